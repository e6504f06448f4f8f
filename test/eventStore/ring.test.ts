import { expect } from "chai";
import fc from "fast-check";
import { createRing } from "#src/eventStore/ring.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";

const categories = ["draft", "thread", "inbox"];

describe("The newest stretch of the log", () => {
  it("is whole after every position from its first on, and within its bounds", () => {
    const batch = fc.record({ events: fc.nat(600), gap: fc.nat(3), text: fc.constantFrom(0, 30_000) });
    const schedule = fc.record({
      batches: fc.array(batch, { maxLength: 6 }),
      wanted: fc.option(fc.subarray(categories, { minLength: 1 }), { nil: undefined }),
      batchSize: fc.constantFrom(3, 500),
    });
    fc.assert(
      fc.property(schedule, ({ batches, wanted, batchSize }) => {
        const ring = createRing(7);
        const all: Recorded[] = [];
        const revisions = new Map<string, number>();
        let head = 7;
        for (const { events: count, gap, text } of batches) {
          const events = Array.from({ length: count }, () => {
            head += 1 + (head % 3);
            const stream = `${categories[all.length % 3]}-${all.length % 5}`;
            const revision = revisions.get(stream) ?? 0;
            revisions.set(stream, revision + 1);
            const data = { text: "x".repeat(text) };
            const event = { position: head, stream, revision, data, metadata: {} } as unknown as Recorded;
            all.push(event);
            return event;
          });
          head += gap;
          ring.push({ events, position: head, caughtUp: gap > 0 });
        }
        expect(ring.to()).to.equal(head);
        const kept = all.filter(({ position }) => position > ring.from());
        expect(kept.length).to.be.at.most(1_000);
        expect(kept.reduce((sum, { data }) => sum + String(data.text).length, 0)).to.be.at.most(8_000_000);
        if (kept.length < all.length) expect(ring.from(), "a position").to.equal(all.at(-1 - kept.length)!.position);
        for (const after of [ring.from(), ring.from() + 1, ...kept.slice(0, 3).map(({ position }) => position), head]) {
          const expected = kept.filter(
            (event) => event.position > after && (!wanted || wanted.includes(categoryOf(event.stream))),
          );
          const got: Recorded[] = [];
          for (let position = after; position < head; ) {
            const next = ring.after({ after: position, categories: wanted, batchSize });
            expect(next.events.length).to.be.at.most(batchSize);
            expect(next.position).to.be.at.least(next.events.at(-1)?.position ?? position + 1);
            got.push(...next.events);
            position = next.position;
          }
          expect(got.map(({ position }) => position)).to.deep.equal(expected.map(({ position }) => position));
        }
        const gone = all.length - kept.length;
        const edges = [all[gone - 1], all[gone], all.at(-1)].filter((event) => event !== undefined);
        for (const { stream, revision, position } of edges) {
          const found = ring.of(stream, revision, 1);
          expect(found?.map((event) => event.position)).to.deep.equal(position > ring.from() ? [position] : undefined);
          expect(ring.knows(position)).to.equal(position >= ring.from());
          expect(ring.knows(position + 0.5)).to.equal(false);
        }
      }),
      { numRuns: 25 },
    );
  });
});
