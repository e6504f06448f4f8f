import type { Decider } from "./decider.ts";
import type { Event } from "./event.ts";

/** A kind of stream, whole: the rules of each, and the name of the one with an id. */
export type Stream<Id, State, Command, E extends Event> = {
  decider: Decider<State, Command, E>;
  name: (id: Id) => string;
  /** Its events change no state, and a command needs to know no more than where it ends: it is never read from its start. */
  tailOnly?: true;
  /** Commands that mostly find no stream yet: they are decided as if there were none, and the append finds out. */
  begunBy?: readonly string[];
};

/** Says nothing new: it makes the compiler find the types that belong together. */
export const stream = <Id, State, Command, E extends Event>(
  described: Stream<Id, State, Command, E>,
): Stream<Id, State, Command, E> => described;
