import { expect } from "chai";
import { type Decider, fold, Rejected } from "#streams/decider.ts";
import type { Event } from "#streams/event.ts";
import { type AnyDecider, faultOfSnapshot } from "./survivesJson.ts";

/** Maximum number of events of a short history; a longer one is cut only once, in its middle. */
const shortHistory = 8;

/**
 * `given(decider, …events).when(command).then(…events)`, or `.thenRejected(code)`; `.then()` without events: the command
 * changes nothing. Also checks that a snapshot of these events is equivalent to them.
 */
export function given<State, Command, E extends Event>(decider: Decider<State, Command, E>, ...events: E[]) {
  expectSnapshots(decider as unknown as AnyDecider, events);
  return {
    when: (command: Command) => ({
      // biome-ignore lint/suspicious/noThenProperty: it reads as the sentence it is
      then: (...expected: E[]) => expect(decider.decide(command, fold(decider, events))).to.deep.equal(expected),
      /** Compares only the types, if the data is checked elsewhere. */
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

function expectSnapshots(decider: AnyDecider, events: readonly Event[]): void {
  const cuts = events.length <= shortHistory ? [...events.keys()] : [Math.floor(events.length / 2)];
  for (const cut of [...cuts, events.length])
    if (cut > 0) expect(faultOfSnapshot(decider, events, cut), `a snapshot after ${cut} events`).to.equal(undefined);
}
