import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { createStateCache } from "#src/commands/states/cache.ts";
import { estimateBytes } from "#src/commands/states/estimateBytes.ts";
import { emptyFold, foldMore, measureState, resumeFold, sizeOf } from "#src/commands/states/foldState.ts";
import { defaultBytes } from "#src/commands/states/states.ts";
import { type EventStore, Unavailable } from "#src/eventStore/eventStore.ts";
import { streams } from "#streams/index.ts";
import { mailReceived } from "#test/support/examples/index.ts";
import { append, cause, quota, reserveMany, world } from "./support.ts";

const { inboxes, quotas, threads } = streams;

describe("the states of streams", () => {
  describe("states kept in memory", () => {
    const open = (log: EventStore, stream: string, subject: string) => {
      const data = { workspaceId: "w", identityId: "i", subject, contactEmail: null, contactId: null };
      return append(log, stream, [{ type: "ThreadOpened", data }]);
    };

    it("kept states take no more memory than allowed, and those used last stay", async () => {
      const { log, instance } = world();
      const { states } = instance({ mostBytes: 100_000 });
      for (let n = 0; n < 40; n++) {
        await open(log, `thread-${n}`, "x".repeat(8_000));
        await states.load(threads, `thread-${n}`);
        await states.load(threads, "thread-0");
        expect(states.bytes()).to.be.at.most(100_000);
      }
      expect(states.bytes()).to.be.greaterThan(70_000);
      const kept = [...Array(40).keys()].filter((n) => states.peek(`thread-${n}`));
      expect(kept).to.include.members([0, 39]).and.to.have.length.within(8, 12);
    });

    it("kept states are measured by what they hold, not by the events that passed through", async () => {
      const { log, instance } = world();
      const { states } = instance();
      await open(log, "thread-1", "short");
      const review = { type: "ThreadReviewSet", data: { needsReview: true, reason: "y".repeat(10_000) } };
      await append(log, "thread-1", Array(20).fill(review));
      await states.load(threads, "thread-1");
      expect(states.bytes()).to.be.within(500, 5_000);
    });

    it("kept states are not evicted for one that is larger than its share", async () => {
      const { log, instance } = world();
      const { states } = instance({ mostBytes: 100_000 });
      await open(log, "thread-small", "small");
      await open(log, "thread-large", "x".repeat(60_000));
      await states.load(threads, "thread-small");
      const { state } = await states.load(threads, "thread-large");
      expect(state.subject).to.have.length(60_000);
      expect([states.peek("thread-small"), states.peek("thread-large")].map(Boolean)).to.deep.equal([true, false]);
    });
  });

  it("a quota of 450,000 mails is kept, so that no mail loads it from its snapshot", () => {
    // A hundredth of them, in a hundredth of the memory.
    const mails = 4_500;
    let { initial: state } = quotas.decider;
    for (let n = 0; n < mails; n++)
      state = quotas.decider.evolve(state, { type: "QuotaReserved", data: { reservationId: randomUUID() } });
    const cache = createStateCache(defaultBytes / 100);
    cache.put(quota, resumeFold({ state, revision: mails - 1, eventId: "" }, mails));
    expect(cache.get(quota)?.state).to.equal(state);
  });

  it("a kept state is measured at most a quarter too large, whatever passed through it", () => {
    const event = () => ({
      ...{ type: "QuotaReserved" as const, data: { reservationId: randomUUID() }, id: randomUUID() },
      metadata: { ...cause, at: "2026-01-01T00:00:00.000Z" },
    });
    let folded = emptyFold(quotas.decider);
    for (let n = 0; n < 3_000; n++) {
      folded = measureState(foldMore(quotas.decider, folded, { events: [event()], position: n }));
      if (n % 50 === 0) expect(sizeOf(folded)).to.be.at.most(estimateBytes(folded.state) * 1.25 + 4_096);
    }
  });

  describe("states that many load at once", () => {
    it("a state that many load at once is folded once", async () => {
      const { log, instance } = world();
      await reserveMany(log, { to: 1_000 });
      const { quotas, counts } = instance();
      const all = await Promise.all(Array.from({ length: 30 }, () => quotas.load(quota)));
      expect(all.map(({ state, revision }) => [state.used, revision])).to.deep.equal(Array(30).fill([1_000, 999]));
      expect(counts.events).to.equal(1_000);
    });

    it("a joined load returns what is true at its own request: it reads on", async () => {
      const { log, instance } = world();
      await reserveMany(log, { to: 3 });
      let read = () => {};
      let goOn = () => {};
      const isRead = new Promise<void>((resolve) => (read = resolve));
      const gate = new Promise<void>((resolve) => (goOn = resolve));
      let first = true;
      // The first read has its answer, and is held up with it.
      const store: EventStore = {
        ...log,
        async readPage(...asked) {
          const isFirst = first;
          first = false;
          const page = await log.readPage(...asked);
          if (isFirst) read();
          if (isFirst) await gate;
          return page;
        },
      };
      const { quotas } = instance({ store });
      const early = quotas.load(quota);
      await isRead;
      await reserveMany(log, { from: 3, to: 4 });
      const late = quotas.load(quota);
      goOn();
      expect((await early).revision).to.equal(2);
      expect((await late).revision, "what was answered before it asked").to.equal(3);
    });

    it("a failed load fails for all who wait, and for no later one", async () => {
      const { log, instance } = world();
      await reserveMany(log, { to: 3 });
      let away = true;
      const store: EventStore = {
        ...log,
        async readPage(...asked) {
          if (away) throw new Unavailable("away");
          return log.readPage(...asked);
        },
      };
      const { quotas } = instance({ store });
      const all = await Promise.allSettled([quotas.load(quota), quotas.load(quota)]);
      expect(all.map(({ status }) => status)).to.deep.equal(["rejected", "rejected"]);
      away = false;
      expect((await quotas.load(quota)).revision).to.equal(2);
    });
  });

  it("states are read in pages that are bounded in bytes", async () => {
    const { log, instance } = world();
    await reserveMany(log, { to: 40, text: "z".repeat(200_000) });
    const { quotas, counts } = instance();
    expect((await quotas.load(quota)).state.used).to.equal(40);
    expect(counts.mostBytes).to.be.lessThan(2_500_000);
  });

  describe("streams of which only the end matters", () => {
    const inbox = inboxes.name("identity");
    const mail = mailReceived({
      number: 1,
      references: [],
      identityId: "identity",
      workspaceId: "w",
      rawSha256: "hash",
    });
    const receive = { type: "ReceiveMail", mail } as const;

    it("an inbox is not read: a mail costs one event, however many there are before", async () => {
      const { log, instance } = world();
      await append(log, inbox, Array(2_000).fill({ type: "MailReceived", data: mail }));
      const { inboxes, counts, states } = instance();
      const { revision } = await inboxes.handle("identity", receive, cause);
      expect(revision).to.equal(2_000);
      expect(counts).to.include({ events: 0, lasts: 1 });
      await inboxes.handle("identity", receive, cause);
      expect(counts).to.include({ events: 0, lasts: 1 });
      expect(states.bytes()).to.be.lessThan(1_000);
    });

    it("an inbox is appended to after another instance was faster", async () => {
      const { log, instance } = world();
      const [one, other] = [instance(), instance()];
      await one.inboxes.handle("identity", receive, cause);
      await other.inboxes.handle("identity", receive, cause);
      const { revision } = await one.inboxes.handle("identity", receive, cause);
      expect(revision).to.equal(2);
      await Promise.all([one, other, one, other].map((each) => each.inboxes.handle("identity", receive, cause)));
      expect(log.all.map((event) => event.revision)).to.deep.equal([0, 1, 2, 3, 4, 5, 6]);
    });
  });
});
