import type { Decider } from "./decider.ts";
import type { Event } from "./event.ts";

/** A kind of stream: its rules, and the name of the stream with an id. */
export type Stream<Id, State, Command, E extends Event> = {
  decider: Decider<State, Command, E>;
  name: (id: Id) => string;
  /** Set if its events change no state, and a command needs only its newest revision: it is never read from its start. */
  tailOnly?: true;
  /** Commands that mostly find no stream yet: they are decided as if there were none, which the append verifies. */
  begunBy?: readonly string[];
};

/** Returns its argument; lets the compiler infer the types that belong together. */
export const stream = <Id, State, Command, E extends Event>(
  described: Stream<Id, State, Command, E>,
): Stream<Id, State, Command, E> => described;
