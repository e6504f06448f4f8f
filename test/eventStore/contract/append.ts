import { expect } from "chai";
import { noStream, StreamMoved } from "#src/eventStore/eventStore.ts";
import { inFull } from "#test/support/full.ts";
import { errorOf, idsOf, newEvent, newEvents, newStream, revisionsOf, upTo } from "./support.ts";
import type { LogUnderTest } from "./underTest.ts";

export function appendContract(log: () => LogUnderTest): void {
  describe("append", () => {
    it("starts a stream at revision 0 and goes on at the revision it was told", async () => {
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
      ["one that should not exist", noStream],
      ["an older revision", 0],
      ["a revision not reached yet", 2],
      ["a revision far ahead", 3_000_000_000],
    ] as const) {
      it(`refuses ${name} and says where the stream stands`, async () => {
        const { store } = log();
        const stream = newStream();
        await store.append(stream, noStream, newEvents(2));
        expect(await errorOf(store.append(stream, expected, [newEvent()])))
          .to.be.instanceOf(StreamMoved)
          .and.to.include({ stream, expectedRevision: expected, actualRevision: 1 });
        expect(await store.read(stream)).to.have.length(2);
      });
    }

    it("refuses a revision of a stream that does not exist", async () => {
      const { store } = log();
      const stream = newStream();
      expect(await errorOf(store.append(stream, 0, [newEvent()])))
        .to.be.instanceOf(StreamMoved)
        .and.to.include({ stream, expectedRevision: 0, actualRevision: noStream });
      expect(await store.read(stream)).to.deep.equal([]);
    });

    it("lets exactly one of many at the same revision through", async () => {
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

    it("shows another client what it acknowledged, at once", async () => {
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

  describe("a retry of the same ids", () => {
    it("succeeds again with the same answer and writes nothing", async () => {
      const { store } = log();
      const stream = newStream();
      const events = newEvents(3);
      const first = await store.append(stream, noStream, events);
      expect(await store.append(stream, noStream, events)).to.deep.equal(first);
      await store.append(stream, 2, newEvents(2));
      expect(await store.append(stream, noStream, events), "however late").to.deep.equal(first);
      expect(revisionsOf(await store.read(stream))).to.deep.equal(upTo(5));
    });

    it("is found behind the first revision too", async () => {
      const { store } = log();
      const stream = newStream();
      await store.append(stream, noStream, newEvents(2));
      const events = newEvents(2);
      const first = await store.append(stream, 1, events);
      await store.append(stream, 3, [newEvent()]);
      expect(await store.append(stream, 1, events)).to.deep.equal(first);
      expect(await store.read(stream)).to.have.length(5);
    });

    it("answers alike when many do it at the same time", async () => {
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

    it("may be a part of what stands there: a prefix, or a run at its own revision", async () => {
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

    it("is refused where it holds anything new, or stands elsewhere", async () => {
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
      // All at once: one that fails while another is waited for would be nobody's.
      for (const error of await Promise.all(attempts.map(errorOf)))
        expect(error).to.be.instanceOf(StreamMoved).and.to.include({ actualRevision: 1 });
      expect(idsOf(await store.read(stream))).to.deep.equal([one.id, two.id]);
    });
  });
}
