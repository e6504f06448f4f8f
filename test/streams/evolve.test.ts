import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import type { Decider } from "#streams/decider.ts";
import type { Event } from "#streams/event.ts";
import { type StoredEvent, upcast } from "#streams/upcast.ts";

type AnyDecider = Decider<unknown, never, Event>;

const folder = new URL("../../streams/", import.meta.url);
const streams = readdirSync(folder, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => name);

const samplesOf = (stream: string): Event[] =>
  JSON.parse(readFileSync(new URL(`${stream}/samples.json`, folder), "utf8")).map((sample: StoredEvent) =>
    upcast(sample),
  );

const deciderOf = async (stream: string): Promise<AnyDecider> =>
  (await import(`../../streams/${stream}/decider.ts`))[`${stream}Decider`];

function deepFreeze<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner);
  return value;
}

/** Returns histories: each event alone, after each other event, and all events in sequence, forwards and backwards. */
function historiesOf(samples: readonly Event[]): (readonly Event[])[] {
  const pairs = samples.flatMap((first) => samples.map((second) => [first, second, second]));
  return [samples, samples.toReversed(), [...samples, ...samples], ...pairs];
}

describe("evolve leaves its input unchanged", () => {
  for (const stream of streams) {
    it(`evolve of ${stream} does not change the state and the event that it is given`, async () => {
      const { initial, evolve } = await deciderOf(stream);
      const foldAll = (events: readonly Event[], prepare: <T>(value: T) => T) =>
        events.reduce((state, event) => evolve(prepare(state), prepare(event)), initial);
      for (const events of historiesOf(samplesOf(stream))) {
        expect(() => foldAll(events, deepFreeze), events.map(({ type }) => type).join(", ")).not.to.throw();
      }
    });

    it(`evolve of ${stream} refuses an event type that this version does not know, by its name`, async () => {
      const { initial, evolve, category } = await deciderOf(stream);
      // These two streams have one type of event, which does not change the state.
      if (category === "inbox" || category === "approvalReply") return;
      const unknown = { type: "SomethingNewer", data: {} };
      expect(() => evolve(initial, unknown)).to.throw(/SomethingNewer/);
    });
  }
});
