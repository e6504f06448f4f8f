import { expect } from "chai";
import { noStream, StreamMoved } from "#src/eventStore/eventStore.ts";
import { inFull } from "#test/support/full.ts";
import { errorOf, idsOf, newEvent, newEvents, newStream, revisionsOf, upTo } from "./support.ts";
import type { LogUnderTest } from "./underTest.ts";

export function appendContract(log: () => LogUnderTest): void {
  describe("append", () => {
    it("an append starts a stream at revision 0 and continues at the revision that it returned", async () => {
      const { store } = log();
      const stream = newStream();
      const headBefore = await store.head();
      const first = await store.append(stream, noStream, newEvents(3));
      expect(first.revision).to.equal(2);
      expect(first.position).to.be.greaterThan(headBefore);
      const second = await store.append(stream, 2, [newEvent()]);
      expect(second.revision).to.equal(3);
      expect(second.position).to.be.greaterThan(first.position);
      expect(await store.head()).to.be.at.least(second.position);
    });

    for (const [name, expected] of [
      ["the start of a stream that exists", noStream],
      ["an older revision", 0],
      ["a revision not reached yet", 2],
      ["a revision far ahead", 3_000_000_000],
    ] as const) {
      it(`an append at ${name} is refused, with the stream's actual revision`, async () => {
        const { store } = log();
        const stream = newStream();
        await store.append(stream, noStream, newEvents(2));
        expect(await errorOf(store.append(stream, expected, [newEvent()])))
          .to.be.instanceOf(StreamMoved)
          .and.to.include({ stream, expectedRevision: expected, actualRevision: 1 });
        expect(await store.read(stream)).to.have.length(2);
      });
    }

    it("an append at a revision of a stream that does not exist is refused", async () => {
      const { store } = log();
      const stream = newStream();
      expect(await errorOf(store.append(stream, 0, [newEvent()])))
        .to.be.instanceOf(StreamMoved)
        .and.to.include({ stream, expectedRevision: 0, actualRevision: noStream });
      expect(await store.read(stream)).to.deep.equal([]);
    });

    it("exactly one of many appends at the same revision succeeds", async () => {
      const { store, makeAnother } = log();
      const another = await makeAnother?.();
      const stream = newStream();
      const last = inFull ? 20 : 5;
      for (let revision = noStream; revision < last; revision++) {
        const contenders = await Promise.allSettled(
          upTo(12).map((n) => (n % 2 && another ? another : store).append(stream, revision, [newEvent()])),
        );
        const won = contenders.filter((result) => result.status === "fulfilled");
        const lost = contenders.filter((result) => result.status === "rejected");
        expect(won).to.have.length(1);
        for (const { reason } of lost) {
          expect(reason).to.be.instanceOf(StreamMoved);
          expect(reason.actualRevision).to.equal(revision + 1);
        }
      }
      expect(revisionsOf(await store.read(stream))).to.deep.equal(upTo(last + 1));
      await another?.close();
    });

    it("an acknowledged append is visible to another client at once", async () => {
      const { store, makeAnother } = log();
      const another = (await makeAnother?.()) ?? store;
      const stream = newStream();
      for (const revision of upTo(inFull ? 50 : 12)) {
        const { position } = await store.append(stream, revision - 1, [newEvent()]);
        expect((await another.readLast(stream))?.position).to.equal(position);
        expect(await another.head()).to.be.at.least(position);
      }
      if (another !== store) await another.close();
    });
  });

  describe("a retried append of the same ids", () => {
    it("a retried append succeeds with the same answer and writes nothing", async () => {
      const { store } = log();
      const stream = newStream();
      const events = newEvents(3);
      const first = await store.append(stream, noStream, events);
      expect(await store.append(stream, noStream, events)).to.deep.equal(first);
      await store.append(stream, 2, newEvents(2));
      expect(await store.append(stream, noStream, events), "however late").to.deep.equal(first);
      expect(revisionsOf(await store.read(stream))).to.deep.equal(upTo(5));
    });

    it("a retried append is found after the first revision too", async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(stream, noStream, newEvents(2));
      const events = newEvents(2);
      const first = await store.append(stream, 1, events);
      await store.append(stream, 3, [newEvent()]);
      expect(await store.append(stream, 1, events)).to.deep.equal(first);
      expect(await store.read(stream)).to.have.length(5);
    });

    it("concurrent appends of the same events get the same answer", async () => {
      const { store, makeAnother } = log();
      const another = await makeAnother?.();
      const stream = newStream();
      const events = newEvents(2);
      const answers = await Promise.all(
        upTo(10).map((n) => (n % 2 && another ? another : store).append(stream, noStream, events)),
      );
      for (const answer of answers) expect(answer).to.deep.equal(answers[0]);
      expect(idsOf(await store.read(stream))).to.deep.equal(idsOf(events));
      await another?.close();
    });

    it("a retried append may be a part of what is stored: a prefix, or a run at its revision", async () => {
      const { store } = log();
      const stream = newStream();
      const events = newEvents(4);
      await store.append(stream, noStream, events);
      const stored = await store.read(stream);
      const answerAt = (revision: number) => ({ revision, position: stored[revision]!.position });
      expect(await store.append(stream, noStream, events.slice(0, 2))).to.deep.equal(answerAt(1));
      expect(await store.append(stream, 0, events.slice(1, 3))).to.deep.equal(answerAt(2));
      expect(await store.read(stream)).to.have.length(4);
    });

    it("a retried append is refused if it holds a new event, or is stored elsewhere", async () => {
      const { store } = log();
      const stream = newStream();
      const [one, two] = newEvents(2) as [ReturnType<typeof newEvent>, ReturnType<typeof newEvent>];
      await store.append(stream, noStream, [one, two]);
      const attempts = [
        store.append(stream, noStream, [one, two, newEvent()]),
        store.append(stream, noStream, [one, newEvent()]),
        store.append(stream, noStream, [newEvent(), two]),
        store.append(stream, noStream, [two, one]),
        store.append(stream, 0, [one]),
      ];
      // All attempts are awaited together: a rejection while another attempt is awaited would be unhandled.
      for (const error of await Promise.all(attempts.map(errorOf)))
        expect(error).to.be.instanceOf(StreamMoved).and.to.include({ actualRevision: 1 });
      expect(idsOf(await store.read(stream))).to.deep.equal([one.id, two.id]);
    });
  });
}
