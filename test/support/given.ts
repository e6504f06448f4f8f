import { expect } from "chai";
import { type Decider, fold, Rejected } from "#streams/decider.ts";
import type { Event } from "#streams/event.ts";

/** `given(decider, …events).when(command).then(…events)`, or `.thenRejected(code)`; `.then()` alone: it is already so. */
export function given<State, Command, E extends Event>(decider: Decider<State, Command, E>, ...events: E[]) {
  return {
    when: (command: Command) => ({
      // biome-ignore lint/suspicious/noThenProperty: it reads as the sentence it is
      then: (...expected: E[]) => expect(decider.decide(command, fold(decider, events))).to.deep.equal(expected),
      /** Only the types, where the data is told elsewhere. */
      thenTypes: (...types: E["type"][]) =>
        expect(decider.decide(command, fold(decider, events)).map((event) => event.type)).to.deep.equal(types),
      thenRejected(code: string) {
        expect(() => decider.decide(command, fold(decider, events)))
          .to.throw(Rejected)
          .with.property("code", code);
      },
    }),
  };
}
