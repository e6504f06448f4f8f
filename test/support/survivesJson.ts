import { isDeepStrictEqual } from "node:util";
import { type Decider, fold } from "#streams/decider.ts";
import type { Event } from "#streams/event.ts";

export type AnyDecider = Pick<Decider<unknown, never, Event>, "initial" | "evolve">;

/**
 * Checks a snapshot made after `cut` of these events: undefined if its state is JSON, and folding the rest into it gives the same as
 * folding all of them; otherwise the fault.
 */
export function faultOfSnapshot(decider: AnyDecider, events: readonly Event[], cut: number): string | undefined {
  const state = fold(decider, events.slice(0, cut));
  let kept: unknown;
  try {
    kept = JSON.parse(JSON.stringify(state));
  } catch (error) {
    return `the state is no JSON: ${(error as Error).message}`;
  }
  if (!isDeepStrictEqual(kept, state)) return "the state is another one after JSON";
  const resumed = fold(decider, events.slice(cut), kept);
  return isDeepStrictEqual(resumed, fold(decider, events)) ? undefined : "the rest folded into it gives another state";
}
