import { expect } from "chai";
import { noStream, StreamMoved } from "#src/eventStore/eventStore.ts";
import { inFull } from "#test/support/full.ts";
import { errorOf, newEvent, newEvents, newStream, upTo } from "./support.ts";
import type { LogUnderTest } from "./underTest.ts";

export function guardContract(log: () => LogUnderTest): void {
  describe("unlessMoved", () => {
    it("a guarded append is written while the guard stream has the expected revision", async () => {
      const { store } = log();
      const [stream, guard] = [newStream(), newStream("guard")];
      await store.append(stream, { revision: noStream, unlessMoved: [{ stream: guard, revision: noStream }] }, [
        newEvent(),
      ]);
      await store.append(guard, noStream, newEvents(2));
      await store.append(stream, { revision: 0, unlessMoved: [{ stream: guard, revision: 1 }] }, [newEvent()]);
      expect(await store.read(stream)).to.have.length(2);
    });

    it("a guarded append is refused once the guard stream moved, names it and writes nothing", async () => {
      const { store } = log();
      const [stream, guard] = [newStream(), newStream("guard")];
      await store.append(guard, noStream, newEvents(2));
      for (const revision of [noStream, 0, 2]) {
        const append = store.append(stream, { revision: noStream, unlessMoved: [{ stream: guard, revision }] }, [
          newEvent(),
        ]);
        expect(await errorOf(append))
          .to.be.instanceOf(StreamMoved)
          .and.to.include({ stream: guard, expectedRevision: revision, actualRevision: 1 });
      }
      expect(await store.read(stream)).to.deep.equal([]);
    });

    it("a retry of a guarded append succeeds though the guard stream moved after the first write", async function () {
      const { store } = log();
      if (!store.guards) this.skip();
      const [stream, guard] = [newStream(), newStream("guard")];
      const events = newEvents(2);
      const expected = { revision: noStream, unlessMoved: [{ stream: guard, revision: noStream }] };
      const first = await store.append(stream, expected, events);
      await store.append(guard, noStream, [newEvent()]);
      expect(await store.append(stream, expected, events)).to.deep.equal(first);
    });

    it("all of several guard streams must have their expected revision, and the one that moved is named", async () => {
      const { store } = log();
      const [stream, first, second, third] = [newStream(), newStream("guard"), newStream("guard"), newStream("guard")];
      await store.append(first, noStream, newEvents(2));
      await store.append(third, noStream, newEvents(3));
      const seen = [
        { stream: first, revision: 1 },
        { stream: second, revision: noStream },
        { stream: third, revision: 2 },
      ];
      const events = [newEvent()];
      const written = await store.append(stream, { revision: noStream, unlessMoved: seen }, events);
      let expected = 0;
      for (const moved of seen) {
        const to = await store.append(moved.stream, moved.revision, [newEvent()]);
        expect(await errorOf(store.append(stream, { revision: expected, unlessMoved: seen }, [newEvent()])))
          .to.be.instanceOf(StreamMoved)
          .and.to.include({ stream: moved.stream, expectedRevision: moved.revision, actualRevision: to.revision });
        moved.revision = to.revision;
        expected = (await store.append(stream, { revision: expected, unlessMoved: seen }, [newEvent()])).revision;
      }
      // A retry of a written append is recognised, whatever the present revisions of the guards.
      const before = seen.map(({ stream: guard }) => ({ stream: guard, revision: 0 }));
      expect(await store.append(stream, { revision: noStream, unlessMoved: before }, events)).to.deep.equal(written);
    });

    it("each of several concurrent appends is judged by its own guard streams", async function () {
      const { store } = log();
      if (!store.guards) this.skip();
      const [standing, moved] = [newStream("guard"), newStream("guard")];
      await store.append(moved, noStream, newEvents(2));
      const results = await Promise.allSettled(
        upTo(40).map((n) => {
          const unlessMoved = [
            { stream: standing, revision: noStream },
            ...(n % 3 === 0 ? [{ stream: moved, revision: 0 }] : []),
          ];
          return store.append(newStream(), { revision: noStream, unlessMoved }, [newEvent({ n })]);
        }),
      );
      for (const [at, n] of upTo(40).entries()) {
        expect(results[at]?.status, `append ${n}`).to.equal(n % 3 === 0 ? "rejected" : "fulfilled");
      }
    });

    it("only one of two appends that guard against each other succeeds", async function () {
      const { store, makeAnother } = log();
      if (!store.guards) this.skip();
      const another = (await makeAnother?.()) ?? store;
      for (const round of upTo(inFull ? 60 : 15)) {
        const [left, right] = [newStream(), newStream()];
        const results = await Promise.allSettled([
          store.append(left, { revision: noStream, unlessMoved: [{ stream: right, revision: noStream }] }, [
            newEvent(),
          ]),
          (round % 2 ? another : store).append(
            right,
            { revision: noStream, unlessMoved: [{ stream: left, revision: noStream }] },
            [newEvent()],
          ),
        ]);
        expect(results.filter((result) => result.status === "fulfilled")).to.have.length(1);
        expect(results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []))[0]).to.be.instanceOf(
          StreamMoved,
        );
      }
      if (another !== store) await another.close();
    });

    it("no guarded append is written after its guard stream moved, under load", async function () {
      const { store } = log();
      if (!store.guards) this.skip();
      const guard = newStream("guard");
      const guarded = Promise.allSettled(
        upTo(100).map((n) =>
          store.append(newStream(), { revision: noStream, unlessMoved: [{ stream: guard, revision: noStream }] }, [
            newEvent({ n }),
          ]),
        ),
      );
      const moved = await store.append(guard, noStream, [newEvent()]);
      for (const result of await guarded) {
        if (result.status === "fulfilled") expect(result.value.position).to.be.lessThan(moved.position);
        else expect(result.reason).to.be.instanceOf(StreamMoved).and.to.include({ stream: guard });
      }
    });
  });
}
