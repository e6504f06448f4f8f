import { type Appended, type EventStore, noStream } from "#src/eventStore/eventStore.ts";
import { createSingleFlight } from "#src/platform/singleFlight.ts";
import type { Event, Recorded } from "#streams/event.ts";
import type { Stream } from "#streams/stream.ts";
import { createMemoryRoom } from "../memoryRoom.ts";
import { createStateCache } from "./cache.ts";
import { emptyFold, type FoldedState, foldMore, measureState, resumeFold } from "./foldState.ts";
import { createSnapshotKeeper, type SnapshotKeeper, type SnapshotOptions } from "./snapshotKeeper.ts";

/** The parts of a stream's definition needed for folding. */
export type StreamKind<State, E extends Event> = Pick<Stream<never, State, never, E>, "decider" | "tailOnly">;

/** Loads states of streams: from memory, from a snapshot, or by folding events. One instance per operating-system process. */
export type States = {
  /** Returns the cached state, which may be outdated; undefined if none is cached. */
  peek<State>(stream: string): FoldedState<State> | undefined;
  /** Returns the present state (linearisable). */
  load<State, E extends Event>(kind: StreamKind<State, E>, stream: string): Promise<FoldedState<State>>;
  /** Returns the state after these events, which were just appended to the stream at the revision of `folded`. */
  advance<State, E extends Event>(
    kind: StreamKind<State, E>,
    folded: FoldedState<State>,
    appended: Appended & { stream: string; events: readonly (E & Pick<Recorded, "id" | "metadata">)[] },
  ): FoldedState<State>;
  /** Folds the stream from its start and writes its snapshot. */
  remake<State, E extends Event>(kind: StreamKind<State, E>, stream: string): Promise<void>;
  /** Returns the size of cached states in bytes. */
  bytes(): number;
  /** Stops writing snapshots. */
  close(): Promise<void>;
};

export type StatesOptions = {
  store: Pick<EventStore, "readPage" | "readLast">;
  /** If absent, long streams are folded from their start. */
  snapshots?: SnapshotOptions;
  /** Memory for cached states, in bytes. */
  mostBytes?: number;
};

/**
 * Default cache size in bytes. It holds some thousand threads and drafts; half as many if it also holds the counters of a workspace with
 * 450,000 mails a month.
 */
export const defaultBytes = 32_000_000;

/** Size of the first page. Nearly every stream ends within it; only for longer streams a snapshot is looked up. */
const firstPage = { events: 100, bytes: 500_000 };
const page = { events: 500, bytes: 2_000_000 };

/** Maximum bytes in memory for pages of long streams. */
const roomForPages = 4 * page.bytes;

export function createStates({ store, snapshots, mostBytes = defaultBytes }: StatesOptions): States {
  const cache = createStateCache(mostBytes);
  const keeper: SnapshotKeeper | undefined = snapshots && createSnapshotKeeper(snapshots);
  const room = createMemoryRoom(roomForPages);
  /** Running loads of streams that have no cached state. */
  const firstLoads = createSingleFlight<FoldedState>();

  function keep<State>(stream: string, folded: FoldedState<State>): FoldedState<State> {
    const measured = measureState(folded);
    const now =
      keeper?.isDue(measured) && keeper.offer(stream, measured) ? { ...measured, events: 0, bytes: 0 } : measured;
    cache.put(stream, now);
    return now;
  }

  async function toEnd<State, E extends Event>(
    kind: StreamKind<State, E>,
    stream: string,
    begin: FoldedState<State>,
  ): Promise<FoldedState<State>> {
    let folded = begin;
    for (let atEnd = false; !atEnd; ) {
      const next = await store.readPage(stream, { from: folded.revision + 1, ...page });
      folded = foldMore(kind.decider, folded, stretchOf<E>(next.events, folded.position));
      atEnd = next.atEnd;
    }
    return folded;
  }

  async function fromStart<State, E extends Event>(
    kind: StreamKind<State, E>,
    stream: string,
  ): Promise<FoldedState<State>> {
    const nothing = emptyFold(kind.decider);
    const first = await store.readPage(stream, { from: 0, ...firstPage });
    const folded = foldMore(kind.decider, nothing, stretchOf<E>(first.events, nothing.position));
    if (first.atEnd) return keep(stream, folded);
    return room.take(page.bytes, async () => {
      const begin = (await fromSnapshot(kind, stream)) ?? folded;
      return keep(stream, await toEnd(kind, stream, begin));
    });
  }

  /**
   * Returns the state of a snapshot if it is complete and the log contains the snapshot's last event. A log that was restored to an earlier
   * time, or continued differently since, does not contain that event.
   */
  async function fromSnapshot<State, E extends Event>(
    { decider }: StreamKind<State, E>,
    stream: string,
  ): Promise<FoldedState<State> | undefined> {
    const snapshot = await keeper?.find(stream);
    if (!snapshot) return undefined;
    const { events } = await store.readPage(stream, { from: snapshot.revision, events: 1, bytes: 1 });
    const [event] = events;
    if (event?.id === snapshot.eventId && isWhole(snapshot.state, decider.initial))
      return resumeFold<State>(snapshot, event.position);
    keeper?.drop(stream, snapshot);
    return undefined;
  }

  /**
   * Loads a state. If a load of the stream is already running, shares it; because that load began earlier, then reads on to the stream's
   * present end.
   */
  async function loadFolded<State, E extends Event>(
    kind: StreamKind<State, E>,
    stream: string,
  ): Promise<FoldedState<State>> {
    const known = cache.get(stream) ?? firstLoads.underWay(stream);
    if (known) return keep(stream, await toEnd(kind, stream, (await known) as FoldedState<State>));
    return firstLoads.run(stream, () => fromStart(kind, stream)) as Promise<FoldedState<State>>;
  }

  async function loadTail<State, E extends Event>(
    { decider }: StreamKind<State, E>,
    stream: string,
  ): Promise<FoldedState<State>> {
    const { revision = noStream, position = 0, id = "" } = (await store.readLast(stream)) ?? {};
    return keep(stream, { ...emptyFold(decider), revision, position, eventId: id });
  }

  return {
    peek: <State>(stream: string) => cache.get(stream) as FoldedState<State> | undefined,
    load: (kind, stream) => (kind.tailOnly ? loadTail(kind, stream) : loadFolded(kind, stream)),
    advance(kind, folded, { stream, events, position }) {
      const now = foldMore(kind.decider, folded, { events, position });
      return keep(stream, kind.tailOnly ? { ...emptyFold(kind.decider), ...placeOf(now) } : now);
    },
    async remake(kind, stream) {
      const folded = await room.take(page.bytes, () => toEnd(kind, stream, emptyFold(kind.decider)));
      await keeper?.write(stream, folded);
    },
    bytes: () => cache.bytes(),
    close: async () => keeper?.close(),
  };
}

/** True if a state has every field of the initial state; otherwise it was made by other rules, or is damaged. */
const isWhole = (state: unknown, initial: unknown): boolean =>
  typeof state === "object" &&
  state !== null &&
  Object.keys(initial as object).every((field) => Object.hasOwn(state, field));

const placeOf = ({ revision, position, eventId }: FoldedState) => ({ revision, position, eventId });

/** Returns events with the position of the last one. `before`: position to return if there are no events. */
const stretchOf = <E extends Event>(read: readonly Recorded[], before: number) => {
  const events = read as Recorded<E>[];
  return { events, position: events.at(-1)?.position ?? before };
};
