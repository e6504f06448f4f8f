import { expect } from "chai";
import { remakeSnapshots } from "#src/commands/states/remakeSnapshots.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { systemClock } from "#src/platform/clock.ts";
import { streams } from "#streams/index.ts";
import { isReserved } from "#streams/quota/decider.ts";
import { createMemoryEventStore } from "#test/support/memoryEventStore.ts";
import { append, cause, quota, reserveMany, until, type World, world } from "./support.ts";

const { quotas, threads } = streams;

describe("the states of streams with snapshots", () => {
  /** Loads the stream in an instance that has no state of it. */
  async function loaded({ instance }: Pick<World, "instance">) {
    const fresh = instance();
    const { state, revision, position } = await fresh.states.load(quotas, quota);
    return {
      used: state.used,
      held: [...Array(800).keys()].filter((n) => isReserved(state, `${n}`)).length,
      revision,
      position,
      read: fresh.counts.events,
    };
  }

  /** Makes a long stream with the snapshot that the first load writes. */
  async function withSnapshot(count = 700) {
    const made = world();
    await reserveMany(made.log, { to: count });
    await loaded(made);
    await until(() => made.kept.rows.has(quota));
    return made;
  }

  it("a state is read from its snapshot on", async () => {
    const made = await withSnapshot();
    await reserveMany(made.log, { from: 700, to: 710 });
    const { read, ...state } = await loaded(made);
    expect(state).to.deep.equal({ used: 710, held: 710, revision: 709, position: 710 });
    // The first page, the snapshot's event, and the new events.
    expect(read).to.equal(100 + 1 + 10);
  });

  it("a state from a snapshot counts in memory like a folded one", async () => {
    const { instance } = await withSnapshot();
    const { states, counts } = instance();
    await states.load(quotas, quota);
    expect(counts.events).to.equal(101);
    // The ids in the state alone have some 2,700 characters.
    expect(states.bytes()).to.be.greaterThan(2_700);
  });

  it("only a long stream gets a snapshot, and another one when it has grown by as much", async () => {
    const { log, kept, instance } = world();
    const { quotas } = instance();
    const reserve = (n: number) => ({ type: "ReserveQuota", reservationId: `${n}`, cap: null }) as const;
    const revisions = new Set<number | undefined>();
    for (let n = 0; n < 1_300; n++) {
      await quotas.handle(quota, reserve(n), cause);
      if (n % 20 === 0) await new Promise(setImmediate);
      revisions.add(kept.rows.get(quota)?.revision);
    }
    expect(log.all).to.have.length(1_300);
    const [none, first, ...more] = [...revisions];
    expect([none, first]).to.deep.equal([undefined, 499]);
    expect(more.length, "not after each event").to.be.within(1, 2);
  });

  it("large events give a snapshot after fewer of them, but never fewer than 32", async () => {
    const { log, kept, instance } = world();
    const review = { type: "ThreadReviewSet", data: { needsReview: true, reason: "y".repeat(40_000) } };
    for (const [stream, count] of [
      ["thread-few", 31],
      ["thread-more", 32],
    ] as const) {
      await append(log, stream, Array(count).fill(review));
      await instance().states.load(threads, stream);
    }
    await until(() => kept.rows.size > 0);
    expect([...kept.rows.keys()]).to.deep.equal(["thread-more"]);
  });

  it("a log restored from before a snapshot is folded from the start, and the snapshot is dropped", async () => {
    const { log, kept, instance } = await withSnapshot();
    const restored = createMemoryEventStore(log.all.slice(0, 600));
    const { state, revision } = await instance({ store: restored }).states.load(quotas, quota);
    expect([state.used, revision]).to.deep.equal([600, 599]);
    await until(() => kept.rows.get(quota)?.revision !== 699);
  });

  it("a log that continued differently after a restore is folded from the start, and the snapshot is dropped", async () => {
    const { log, kept, instance } = await withSnapshot();
    const restored = createMemoryEventStore(log.all.slice(0, 600));
    await reserveMany(restored, { from: 600, to: 800, text: "-anew" });
    const { state } = await instance({ store: restored }).states.load(quotas, quota);
    expect(state.used).to.equal(800);
    expect([isReserved(state, "650-anew"), isReserved(state, "650")]).to.deep.equal([true, false]);
    await until(() => kept.rows.get(quota)?.eventId !== log.all[699]!.id);
  });

  for (const field of Object.keys(quotas.decider.initial)) {
    it(`a snapshot whose state lost its field ${field} is dropped, and the stream folded from the start`, async () => {
      const made = await withSnapshot();
      const row = made.kept.rows.get(quota)!;
      const { [field]: lost, ...others } = row.state as Record<string, unknown>;
      expect(lost).not.to.equal(undefined);
      await made.kept.drop(quota);
      await made.kept.write(quota, row.rules, { ...row, state: others });
      expect(await loaded(made)).to.include({ used: 700, held: 700, read: 701 });
      await until(() => Object.hasOwn(made.kept.rows.get(quota)?.state ?? {}, field));
    });
  }

  it("a snapshot of other rules is not used: the stream is folded from the start", async () => {
    const made = await withSnapshot();
    made.upgrade("quota");
    expect((await loaded(made)).read).to.equal(700);
    await until(() => made.kept.rows.get(quota)?.rules === "other rules");
    expect((await loaded(made)).read).to.equal(101);
  });

  it("states load without snapshots if these fail, which is logged once", async () => {
    const { log, said, instance, kept } = world();
    await reserveMany(log, { to: 700 });
    let tried = 0;
    const broken = async () => {
      tried += 1;
      throw new Unavailable("away");
    };
    const snapshots = { ...instance().snapshots, kept: { ...kept, read: broken, write: broken } };
    const { quotas: service, states } = instance({ snapshots });
    const { revision } = await service.handle(quota, { type: "ReleaseQuota", reservationId: "1" }, cause);
    expect(revision).to.equal(700);
    await until(() => tried === 2);
    await reserveMany(log, { from: 700, to: 1_400 });
    expect((await service.load(quota)).state.used).to.equal(1_399);
    await until(() => tried === 3);
    await states.close();
    expect(said).to.deep.equal(["cannot write snapshots of long streams"]);
  });

  it("a state does not wait for a snapshot that does not arrive", async () => {
    const { instance, log, kept } = await withSnapshot();
    const snapshots = { ...instance().snapshots, kept: { ...kept, read: () => new Promise<never>(() => {}) } };
    await reserveMany(log, { from: 700, to: 701 });
    expect((await instance({ snapshots }).states.load(quotas, quota)).state.used).to.equal(701);
  });

  it("a command never waits for the writing of a snapshot", async () => {
    const { log, instance, kept } = world();
    await reserveMany(log, { to: 700 });
    const snapshots = { ...instance().snapshots, kept: { ...kept, write: () => new Promise<never>(() => {}) } };
    const { quotas } = instance({ snapshots });
    await quotas.handle(quota, { type: "ReleaseQuota", reservationId: "1" }, cause);
    const { revision } = await quotas.handle(quota, { type: "ReleaseQuota", reservationId: "2" }, cause);
    expect(revision).to.equal(701);
  });

  describe("snapshots after an upgrade", () => {
    it("snapshots are made again before anybody asks for them, and only those whose rules have changed", async () => {
      const made = await withSnapshot();
      const untouched = JSON.stringify(made.kept.rows.get(quota));
      const before = made.instance();
      await remakeSnapshots(before.states, before.snapshots, { clock: systemClock });
      expect([before.counts.events, JSON.stringify(made.kept.rows.get(quota))]).to.deep.equal([0, untouched]);
      made.upgrade("quota");
      const { states, snapshots } = made.instance();
      await remakeSnapshots(states, snapshots, { clock: systemClock });
      expect(made.kept.rows.get(quota)).to.include({ rules: "other rules", revision: 699 });
      expect(made.said).to.deep.equal([
        "the rules of long streams have changed: rebuilding their snapshots",
        "all snapshots are rebuilt",
      ]);
      expect((await loaded(made)).read).to.equal(101);
    });

    it("the wait for new snapshots is bounded, and ends if one fails", async () => {
      const made = await withSnapshot();
      made.upgrade("quota");
      const { states, snapshots, counts } = made.instance();
      await remakeSnapshots(states, snapshots, { clock: systemClock, withinMs: 0 });
      expect([counts.events, made.said.at(-1)]).to.deep.equal([
        0,
        "the other snapshots are built when they are needed",
      ]);
      const away = { ...snapshots.kept, outdated: () => Promise.reject(new Unavailable("away")) };
      await remakeSnapshots(states, { ...snapshots, kept: away }, { clock: systemClock });
      expect(made.said.at(-1)).to.match(/^cannot rebuild snapshots/);
    });

    it("a snapshot of a stream that the log no longer has is dropped", async () => {
      const made = await withSnapshot();
      made.upgrade("quota");
      const { states, snapshots } = made.instance({ store: createMemoryEventStore() });
      await remakeSnapshots(states, snapshots, { clock: systemClock });
      expect(made.kept.rows.size).to.equal(0);
    });
  });
});
