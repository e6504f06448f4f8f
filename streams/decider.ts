import type { Event } from "./event.ts";

/**
 * Rules of a stream. `decide` returns the events that a command causes, `evolve` applies an event. Both are pure: time, ids and randomness
 * are in the command. An empty list means "already so".
 */
export type Decider<State, Command, E extends Event> = {
  /** Category of the streams that this decider is for, for example `draft`. */
  category: string;
  /** The whole state is JSON and survives JSON.parse(JSON.stringify(state)), because the state of a long stream is kept as a snapshot. */
  initial: State;
  evolve: (state: State, event: E) => State;
  decide: (command: Command, state: State) => E[];
};

/** A command that the rules do not allow. `code` is the contract's error code; HTTP numbers live in src/http/framework/errors.ts alone. */
export class Rejected extends Error {
  readonly code: string;
  /** Facts the caller needs to act on, in the wire's names, for example `new_message_id`. */
  readonly details: Record<string, unknown>;
  constructor(code: string, message: string, details: Record<string, unknown> = {}) {
    super(message);
    this.name = "Rejected";
    this.code = code;
    this.details = details;
  }
}

/** Creates invalid_request about one field or parameter: the message begins with its path, which the wire also gives as `field`. */
export const invalidRequest = (field: string, sentence: string, details: Record<string, unknown> = {}): Rejected =>
  new Rejected("invalid_request", `${field}: ${sentence}`, { field, ...details });

/** Creates not_found about an id in a body. It does not reveal whether the id never existed or belongs to another workspace. */
export const notFound = (field: string, noun: string): Rejected =>
  new Rejected("not_found", `${field}: no such ${noun}`, { field });

export const fold = <State, E extends Event>(
  decider: Pick<Decider<State, never, E>, "initial" | "evolve">,
  events: readonly E[],
  from: State = decider.initial,
): State => events.reduce(decider.evolve, from);
