import { expect } from "chai";
import { createChains, learnDecisions, loadDecisions, survivingThread } from "#src/commands/inbound/filing/chains.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Event } from "#streams/event.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import { cause, createSendWorld, identityId } from "#test/processes/sendWorld.ts";
import { sized } from "#test/support/full.ts";

const decision = (number: number, different: Partial<FilingDecision>): FilingDecision => ({
  ...{ number, deliveryId: `d${number}`, inboxRevision: number - 1, inboxPosition: number, disposition: "threaded" },
  ...{ reason: null, messageId: `m${number}`, threadId: `t${number}`, opensThread: true, absorbs: [], chainIds: [] },
  ...{ rfcMessageId: `<${number}>`, contentDigest: `c${number}`, reviewReason: null, bouncedAttemptId: null },
  ...different,
});

describe("the filing index of threads", () => {
  it("the index finds the end of any number of merges, and shortens the way there", () => {
    const count = sized(500, 20_000);
    const chains = createChains();
    let steps = 0;
    const get = chains.mergedInto.get.bind(chains.mergedInto);
    chains.mergedInto.get = (id) => {
      steps += 1;
      return get(id);
    };
    // Merges each thread into the one before it, the newest first.
    for (let n = count; n > 1; n--) {
      learnDecisions(chains, decision(n, { threadId: `t${n - 1}`, opensThread: false, absorbs: [`t${n}`] }));
    }
    for (let n = count; n > 0; n--) expect(survivingThread(chains, `t${n}`)).to.equal("t1");
    expect(steps).to.be.below(count * 6);
  });

  it("the index keeps a thread's age over pages, also before the read model has it", async () => {
    const { log, node } = await createSendWorld({ deliveries: 1 });
    const metadata = { ...cause, at: "2026-01-01T00:00:00Z" };
    const before = await log.read(`filing-${identityId}`);
    const opened = { type: "FilingDecided", data: decision(60, {}) } as const;
    await log.append(`filing-${identityId}`, before.length - 1, [{ ...opened, id: node.ids.uuid(), metadata }]);
    const chains = createChains();
    // Returns the index's row for a thread that the index does not contain.
    const unseen = (threadId: string) => ({ thread_id: threadId, survivor_id: threadId, opened_number: 0 });
    const query = async (sql: string, [ids]: unknown[] = []) => ({
      rows: sql.includes("unnest($1::uuid[])") ? (ids as string[]).map(unseen) : [],
    });
    const reads = { ...node.reads, ofNone: { query } } as unknown as typeof node.reads;
    for (const page of [1, 2]) {
      await loadDecisions({ ...node, reads }, chains, { identityId, ids: [], own: ["t60"], mails: [] });
      expect(chains.openedNumber.get("t60"), `page ${page}`).to.equal(60);
    }
  });

  it("the index fits into memory: mail waits for a read model that is far behind", async () => {
    const { log, node } = await createSendWorld({ deliveries: 1 });
    const metadata = { ...cause, at: "2026-01-01T00:00:00Z" };
    const before = await log.read(`filing-${identityId}`);
    const long = (n: number): Event => ({
      type: "FilingDecided",
      data: decision(n, { chainIds: [`<${n}${"x".repeat(500_000)}>`] }),
    });
    const events = Array.from({ length: 10 }, (_, n) => ({ ...long(n + 2), id: node.ids.uuid(), metadata }));
    await log.append(`filing-${identityId}`, before.length - 1, events);
    const asked = { identityId, ids: [], own: [], mails: [] };
    const refused = await loadDecisions(node, createChains(), asked).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(Unavailable).with.property("message").that.includes("far behind");
  });
});
