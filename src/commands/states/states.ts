import { type Appended, type EventStore, noStream } from "#src/eventStore/eventStore.ts";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import type { Event, Recorded } from "#streams/event.ts";
import type { Stream } from "#streams/stream.ts";
import { createRoom } from "../room.ts";
import { createStateCache } from "./cache.ts";
import { type Folded, foldOn, measure, nothingYet, resumed } from "./folded.ts";
import { createSnapshotKeeper, type SnapshotKeeper, type SnapshotOptions } from "./snapshotKeeper.ts";

/** A kind of stream, as far as folding goes. */
export type Kind<State, E extends Event> = Pick<Stream<never, State, never, E>, "decider" | "tailOnly">;

/** The states of streams, wherever they come from: kept in memory, from a snapshot, or folded. One for each process. */
export type States = {
  /** The state that is kept, as old as it may be. */
  peek<State>(stream: string): Folded<State> | undefined;
  /** The state as it is now (linearisable). */
  load<State, E extends Event>(kind: Kind<State, E>, stream: string): Promise<Folded<State>>;
  /** The state after these events, which were just appended to the stream where it was `folded`. */
  advance<State, E extends Event>(
    kind: Kind<State, E>,
    folded: Folded<State>,
    appended: Appended & { stream: string; events: readonly (E & Pick<Recorded, "id" | "metadata">)[] },
  ): Folded<State>;
  /** Folds the stream from its start, and makes its snapshot again. */
  remake<State, E extends Event>(kind: Kind<State, E>, stream: string): Promise<void>;
  /** What is kept, in bytes. */
  bytes(): number;
  /** No snapshot is written after this. */
  close(): Promise<void>;
};

export type StatesOptions = {
  store: Pick<EventStore, "readPage" | "readLast">;
  /** Without them long streams are folded from their start. */
  snapshots?: SnapshotOptions;
  /** Memory for states that are kept, in bytes. */
  mostBytes?: number;
};

/** Some thousand threads and drafts, or half as many beside what a workspace of 450,000 mails a month has counted. */
export const defaultBytes = 32_000_000;

/** Nearly every stream ends within the first page. Only of one that does not, a snapshot is asked for. */
const firstPage = { events: 100, bytes: 500_000 };
const page = { events: 500, bytes: 2_000_000 };

/** Pages of long streams that are in memory at once, in bytes. */
const roomForPages = 4 * page.bytes;

export function createStates({ store, snapshots, mostBytes = defaultBytes }: StatesOptions): States {
  const cache = createStateCache(mostBytes);
  const keeper: SnapshotKeeper | undefined = snapshots && createSnapshotKeeper(snapshots);
  const room = createRoom(roomForPages);
  /** Loads of streams of which nothing is kept. */
  const firstLoads = createSingleFlight<Folded>();

  function keep<State>(stream: string, folded: Folded<State>): Folded<State> {
    const measured = measure(folded);
    const now =
      keeper?.isDue(measured) && keeper.offer(stream, measured) ? { ...measured, events: 0, bytes: 0 } : measured;
    cache.put(stream, now);
    return now;
  }

  async function toEnd<State, E extends Event>(
    kind: Kind<State, E>,
    stream: string,
    begin: Folded<State>,
  ): Promise<Folded<State>> {
    let folded = begin;
    for (let atEnd = false; !atEnd; ) {
      const next = await store.readPage(stream, { from: folded.revision + 1, ...page });
      folded = foldOn(kind.decider, folded, stretchOf<E>(next.events, folded.position));
      atEnd = next.atEnd;
    }
    return folded;
  }

  async function fromStart<State, E extends Event>(kind: Kind<State, E>, stream: string): Promise<Folded<State>> {
    const nothing = nothingYet(kind.decider);
    const first = await store.readPage(stream, { from: 0, ...firstPage });
    const folded = foldOn(kind.decider, nothing, stretchOf<E>(first.events, nothing.position));
    if (first.atEnd) return keep(stream, folded);
    return room.take(page.bytes, async () => {
      const begin = (await fromSnapshot(kind, stream)) ?? folded;
      return keep(stream, await toEnd(kind, stream, begin));
    });
  }

  /** Where the log has the very event that the snapshot is of (not in one that was restored from before it, or that went on differently), and it is whole. */
  async function fromSnapshot<State, E extends Event>(
    { decider }: Kind<State, E>,
    stream: string,
  ): Promise<Folded<State> | undefined> {
    const snapshot = await keeper?.find(stream);
    if (!snapshot) return undefined;
    const { events } = await store.readPage(stream, { from: snapshot.revision, events: 1, bytes: 1 });
    const [event] = events;
    if (event?.id === snapshot.eventId && isWhole(snapshot.state, decider.initial))
      return resumed<State>(snapshot, event.position);
    keeper?.drop(stream, snapshot);
    return undefined;
  }

  /** Nobody folds a stream that somebody is folding already. The one who began asked first, so what it reads is new enough for that one alone. */
  async function loadFolded<State, E extends Event>(kind: Kind<State, E>, stream: string): Promise<Folded<State>> {
    const known = cache.get(stream) ?? firstLoads.underWay(stream);
    if (known) return keep(stream, await toEnd(kind, stream, (await known) as Folded<State>));
    return firstLoads.run(stream, () => fromStart(kind, stream)) as Promise<Folded<State>>;
  }

  async function loadTail<State, E extends Event>({ decider }: Kind<State, E>, stream: string): Promise<Folded<State>> {
    const { revision = noStream, position = 0, id = "" } = (await store.readLast(stream)) ?? {};
    return keep(stream, { ...nothingYet(decider), revision, position, eventId: id });
  }

  return {
    peek: <State>(stream: string) => cache.get(stream) as Folded<State> | undefined,
    load: (kind, stream) => (kind.tailOnly ? loadTail(kind, stream) : loadFolded(kind, stream)),
    advance(kind, folded, { stream, events, position }) {
      const now = foldOn(kind.decider, folded, { events, position });
      return keep(stream, kind.tailOnly ? { ...nothingYet(kind.decider), ...placeOf(now) } : now);
    },
    async remake(kind, stream) {
      const folded = await room.take(page.bytes, () => toEnd(kind, stream, nothingYet(kind.decider)));
      await keeper?.write(stream, folded);
    },
    bytes: () => cache.bytes(),
    close: async () => keeper?.close(),
  };
}

/** A state has every field that it began with, whatever happened: one that lacks some was not made by these rules, or was damaged. */
const isWhole = (state: unknown, initial: unknown): boolean =>
  typeof state === "object" &&
  state !== null &&
  Object.keys(initial as object).every((field) => Object.hasOwn(state, field));

const placeOf = ({ revision, position, eventId }: Folded) => ({ revision, position, eventId });

/** `before`: the position to stay at where nothing was read. */
const stretchOf = <E extends Event>(read: readonly Recorded[], before: number) => {
  const events = read as Recorded<E>[];
  return { events, position: events.at(-1)?.position ?? before };
};
