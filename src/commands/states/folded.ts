import { noStream, textOf } from "#src/eventStore/eventStore.ts";
import type { Snapshot } from "#src/platform/snapshots/snapshots.ts";
import type { Decider } from "#streams/decider.ts";
import type { Event, Recorded } from "#streams/event.ts";
import { bytesOf } from "./bytes.ts";

/** A stream's state, with its revision and position then: -1 and 0 for a stream that does not exist. */
export type Loaded<State> = { state: State; revision: number; position: number };

/** A state on its way through its stream, and what else is known of it there. Sizes are in bytes, and about right. */
export type Folded<State = unknown> = Loaded<State> & {
  /** Of the event at `revision`; "" before the first. */
  eventId: string;
  /** What the state took when it was measured last, and what was folded into it since: it takes no more than both. */
  measured: number;
  grown: number;
  /** What was folded since the last snapshot. */
  events: number;
  bytes: number;
};

type Evolving<State, E extends Event> = Pick<Decider<State, never, E>, "initial" | "evolve">;

/** An event as it is folded: read from the log, or just appended to it. */
type Foldable<E extends Event> = E & Pick<Recorded, "id" | "metadata">;

/** A stream before its first event. */
export const nothingYet = <State>({ initial }: { initial: State }): Folded<State> => ({
  ...{ state: initial, revision: noStream, position: 0, eventId: "" },
  ...{ measured: 0, grown: 0, events: 0, bytes: 0 },
});

/** A stream as its snapshot has it. `position`: of the event that the snapshot is of. */
export const resumed = <State>({ state, revision, eventId }: Snapshot, position: number): Folded<State> => ({
  ...{ state: state as State, revision, position, eventId },
  ...{ measured: bytesOf(state), grown: 0, events: 0, bytes: 0 },
});

/** Folds what comes next in the stream. `position`: of the last of these events. */
export function foldOn<State, E extends Event>(
  { evolve }: Evolving<State, E>,
  folded: Folded<State>,
  { events, position }: { events: readonly Foldable<E>[]; position: number },
): Folded<State> {
  if (events.length === 0) return folded;
  let { state } = folded;
  let bytes = 0;
  for (const event of events) {
    state = evolve(state, event);
    bytes += textOf(event);
  }
  return {
    ...folded,
    ...{ state, revision: folded.revision + events.length, position, eventId: events.at(-1)!.id },
    ...{ grown: folded.grown + bytes, events: folded.events + events.length, bytes: folded.bytes + bytes },
  };
}

/** Less than this is not worth looking closer at. */
const smallBytes = 4_096;

/** About how much memory the state takes; never much less than it does. */
export const sizeOf = ({ measured, grown }: Folded): number => measured + grown;

/** A state is taken for one part in so many larger than it is at most. */
const precision = 4;

/**
 * Measured again where a part of what it had was folded into it: most events leave little behind. A look at a state costs a small part of what
 * folding as many bytes does, so measuring costs no more than that, however long the stream.
 */
export const measure = <State>(folded: Folded<State>): Folded<State> =>
  folded.grown <= Math.max(folded.measured / precision, smallBytes)
    ? folded
    : { ...folded, measured: bytesOf(folded.state), grown: 0 };
