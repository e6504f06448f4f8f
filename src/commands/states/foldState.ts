import { estimateLength, noStream } from "#src/eventStore/eventStore.ts";
import type { Snapshot } from "#src/platform/snapshots/snapshots.ts";
import type { Decider } from "#streams/decider.ts";
import type { Event, Recorded } from "#streams/event.ts";
import { estimateBytes } from "./estimateBytes.ts";

/** A stream's state with its revision and position: -1 and 0 for a stream that does not exist. */
export type Loaded<State> = { state: State; revision: number; position: number };

/** A state while its stream is being folded, with statistics. Sizes are in bytes, approximately. */
export type FoldedState<State = unknown> = Loaded<State> & {
  /** Id of the event at `revision`; "" before the first. */
  eventId: string;
  /** Size of the state when it was last measured, and (`grown`) of the events folded since. The state takes at most the sum. */
  measured: number;
  grown: number;
  /** Number of events folded since the last snapshot, and their size. */
  events: number;
  bytes: number;
};

type Evolving<State, E extends Event> = Pick<Decider<State, never, E>, "initial" | "evolve">;

/** An event to fold: read from the log, or just appended. */
type Foldable<E extends Event> = E & Pick<Recorded, "id" | "metadata">;

/** A stream before its first event. */
export const emptyFold = <State>({ initial }: { initial: State }): FoldedState<State> => ({
  ...{ state: initial, revision: noStream, position: 0, eventId: "" },
  ...{ measured: 0, grown: 0, events: 0, bytes: 0 },
});

/** Restores a folded state from a snapshot. `position`: log position of the snapshot's last event. */
export const resumeFold = <State>({ state, revision, eventId }: Snapshot, position: number): FoldedState<State> => ({
  ...{ state: state as State, revision, position, eventId },
  ...{ measured: estimateBytes(state), grown: 0, events: 0, bytes: 0 },
});

/** Folds the next events of the stream. `position`: log position of the last of them. */
export function foldMore<State, E extends Event>(
  { evolve }: Evolving<State, E>,
  folded: FoldedState<State>,
  { events, position }: { events: readonly Foldable<E>[]; position: number },
): FoldedState<State> {
  if (events.length === 0) return folded;
  let { state } = folded;
  let bytes = 0;
  for (const event of events) {
    state = evolve(state, event);
    bytes += estimateLength(event);
  }
  return {
    ...folded,
    ...{ state, revision: folded.revision + events.length, position, eventId: events.at(-1)!.id },
    ...{ grown: folded.grown + bytes, events: folded.events + events.length, bytes: folded.bytes + bytes },
  };
}

/** Growth in bytes below which a state is not measured again. */
const smallBytes = 4_096;

/** Returns the approximate size of the state; never much less than the real one. */
export const sizeOf = ({ measured, grown }: FoldedState): number => measured + grown;

/** The size of a state is overestimated by at most 1/`precision`. */
const precision = 4;

/**
 * Measures a state again once events of a fraction of its size were folded into it, because most events add little to a state. Measuring is
 * much cheaper than folding that many bytes, so its total cost stays small for a stream of any length.
 */
export const measureState = <State>(folded: FoldedState<State>): FoldedState<State> =>
  folded.grown <= Math.max(folded.measured / precision, smallBytes)
    ? folded
    : { ...folded, measured: estimateBytes(folded.state), grown: 0 };
