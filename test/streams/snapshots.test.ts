import { readFileSync } from "node:fs";
import { expect } from "chai";
import fc from "fast-check";
import { fold } from "#streams/decider.ts";
import type { Event } from "#streams/event.ts";
import { streams } from "#streams/index.ts";
import { type StoredEvent, upcast } from "#streams/upcast.ts";
import { sized } from "#test/support/full.ts";
import { type AnyDecider, faultOfSnapshot } from "#test/support/survivesJson.ts";

type AnyStream = { decider: AnyDecider & { category: string }; tailOnly?: true };

const samplesOf = (category: string): Event[] =>
  JSON.parse(readFileSync(new URL(`../../streams/${category}/samples.json`, import.meta.url), "utf8")).map(
    (sample: StoredEvent) => upcast(sample),
  );

/** Varies an event's ids and numbers within a few values, so that later events refer to earlier ones. */
function another(event: Event, variant: number): Event {
  const text = JSON.stringify(event)
    .replaceAll(/([0-9a-f]{8}-[0-9a-f-]{26}[0-9a-f])[0-9a-f](?=")/g, `$1${variant}`)
    .replaceAll(/"(number|inboxRevision|version|revision)":(\d+)/g, (_, name, n) => `"${name}":${+n + variant}`);
  return JSON.parse(text);
}

/** A history of these samples in any order, and where it is cut. */
const historiesOf = (samples: readonly Event[]) =>
  fc
    .array(fc.tuple(fc.constantFrom(...samples), fc.nat(3)), { minLength: 1, maxLength: 25 })
    .map((picked) => picked.map(([event, variant]) => another(event, variant)))
    .chain((events) => fc.tuple(fc.constant(events), fc.nat(events.length)));

describe("a snapshot", () => {
  it("snapshots are checked for every kind of stream", () => {
    expect(Object.values(streams).length).to.be.at.least(20);
    for (const { decider } of Object.values(streams)) expect(samplesOf(decider.category)).not.to.have.length(0);
  });

  for (const [noun, { decider, tailOnly }] of Object.entries(streams as unknown as Record<string, AnyStream>)) {
    it(`a snapshot of ${noun} at any position and the rest of the events fold to the state`, () => {
      const samples = samplesOf(decider.category);
      for (const cut of [...samples.keys(), samples.length])
        expect(faultOfSnapshot(decider, samples, cut), `after ${cut} samples`).to.equal(undefined);
      const property = fc.property(historiesOf(samples), ([events, cut]) => {
        expect(faultOfSnapshot(decider, events, cut)).to.equal(undefined);
      });
      fc.assert(property, { numRuns: sized(40, 1_000) });
    });

    it(`a snapshot of ${noun} has every field that a stream begins with, whatever happened`, () => {
      const fields = Object.keys(decider.initial as object);
      const property = fc.property(historiesOf(samplesOf(decider.category)), ([events]) => {
        expect(fold(decider, events)).to.include.all.keys(fields);
      });
      if (fields.length > 0) fc.assert(property, { numRuns: sized(20, 500) });
    });

    it(`a snapshot of ${noun} ${tailOnly ? "would hold nothing: no event changes its state" : "holds something"}`, () => {
      const samples = samplesOf(decider.category);
      const changed = samples.some(
        (event) => JSON.stringify(decider.evolve(decider.initial, event)) !== JSON.stringify(decider.initial),
      );
      expect(changed).to.equal(!tailOnly);
    });
  }

  describe("a snapshot of a state that JSON does not keep", () => {
    const happened: Event = { type: "Happened", data: {} };
    const hidden = new WeakMap<object, number>();
    const broken: Record<string, AnyDecider> = {
      "has a Map": { initial: { by: new Map() }, evolve: () => ({ by: new Map([["a", 1]]) }) },
      "has a Set": { initial: { all: [] }, evolve: () => ({ all: new Set(["a"]) }) },
      "has a field without a value": { initial: {}, evolve: () => ({ reason: undefined }) },
      "has a Date": { initial: {}, evolve: () => ({ at: new Date(0) }) },
      "has a number that JSON does not have": { initial: {}, evolve: () => ({ most: Number.POSITIVE_INFINITY }) },
      "has a large number": { initial: {}, evolve: () => ({ position: 1n }) },
      "is of a class": { initial: {}, evolve: () => new URL("http://a") },
      "has a toJSON that omits a field": {
        initial: {},
        evolve: () => ({ kept: 1, lost: 2, toJSON: () => ({ kept: 1 }) }),
      },
      "depends on data outside of it": {
        initial: { count: 0 },
        evolve: (state) => {
          const next = { count: (hidden.get(state as object) ?? 0) + 1 };
          hidden.set(next, next.count);
          return next;
        },
      },
    };
    for (const [what, decider] of Object.entries(broken)) {
      it(`a snapshot is refused of a state that ${what}`, () => {
        expect(faultOfSnapshot(decider, [happened, happened], 1)).to.be.a("string");
      });
    }
  });
});
