import { expect } from "chai";
import { inbound } from "#projections/inbound/projector.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import type { Recorded } from "#streams/event.ts";
import { filingDecision } from "#test/support/examples/filingDecision.ts";
import { inboundMessage, mailReceived } from "#test/support/examples/index.ts";
import { sized } from "#test/support/full.ts";
import { makeTables, project, unseenTables } from "#test/support/projecting.ts";
import { seeded } from "../../scripts/support/random.ts";

const uuid = (n: number): string => `0193a0aa-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [a, b, c] = [uuid(1), uuid(2), uuid(3)] as [string, string, string];
const workspaceId = uuid(100);
const ids = { references: [], identityId: uuid(200), workspaceId, rawSha256: "raw" };

type NewEvent = Pick<Recorded, "stream" | "type" | "data">;

const received = (n: number): NewEvent => ({
  stream: "inbox-i",
  type: "MailReceived",
  data: { ...mailReceived({ ...ids, number: n }), deliveryId: uuid(n) },
});
const decided = (n: number, threadId: string, different = {}): NewEvent => ({
  stream: "filing-i",
  type: "FilingDecided",
  data: filingDecision(n, { deliveryId: uuid(n), messageId: uuid(n), threadId, ...different }),
});
const threaded = (n: number, thread: string): NewEvent => ({
  stream: `thread-${thread}`,
  type: "MessageReceived",
  data: inboundMessage(n, { deliveryId: uuid(n) }),
});
const filed = (n: number, thread: string) => [received(n), decided(n, thread), threaded(n, thread)];
const sent = (thread: string): NewEvent => ({ stream: `thread-${thread}`, type: "MessageSent", data: {} });
const status = (thread: string, to: string): NewEvent => ({
  stream: `thread-${thread}`,
  type: "ThreadStatusChanged",
  data: { status: to },
});
const merged = (survivor: string, absorbedId: string): NewEvent => ({
  stream: `thread-${survivor}`,
  type: "ThreadAbsorbed",
  data: { absorbedId, part: { n: 1, of: 1 } },
});

const recorded = (events: readonly NewEvent[]): Recorded[] =>
  events.map((event, index) => ({
    ...event,
    id: uuid(1000 + index),
    revision: index,
    position: index + 1,
    schemaVersion: 1,
    metadata: {
      workspaceId,
      actor: { kind: "system", id: "test" },
      correlationId: "test",
      causationId: "test",
      at: "2026-11-01T12:00:00.000Z",
    },
  }));

describe("unanswered mail", () => {
  const unseen = unseenTables();

  const rowsOf = async (tx: Sql) =>
    (await tx.query("select id, thread_id, thread_since, answered from inbound order by position")).rows;

  /** The ledger after these batches of the events. */
  const ledger = (events: readonly NewEvent[], batchOf: (index: number) => number) =>
    unseen(async (tx) => {
      await makeTables(inbound, tx);
      const batches: Recorded[][] = [];
      for (const [index, event] of recorded(events).entries()) {
        const batch = batchOf(index);
        batches[batch] = [...(batches[batch] ?? []), event];
      }
      for (const batch of batches) await project(inbound, tx, batch);
      return rowsOf(tx);
    });
  const unanswered = async (...events: (NewEvent | NewEvent[])[]) =>
    (await ledger(events.flat(), () => 0)).filter(({ answered }) => !answered).map(({ id }) => Number(id.slice(-3)));

  it("unanswered mail is what arrived on a thread since its last sent mail or its closing", async () => {
    expect(await unanswered(filed(11, a), filed(12, b))).to.deep.equal([11, 12]);
    expect(await unanswered(filed(11, a), filed(12, b), sent(a))).to.deep.equal([12]);
    expect(await unanswered(filed(11, a), sent(a), filed(12, a))).to.deep.equal([12]);
    expect(await unanswered(filed(11, a), status(a, "closed"), filed(12, a))).to.deep.equal([12]);
    expect(await unanswered(filed(11, a), status(a, "waiting"))).to.deep.equal([11]);
    expect(await unanswered(received(11), sent(a))).to.deep.equal([11]);
  });

  it("unanswered mail includes repeated, held and merged mail until the thread is answered", async () => {
    const repeated = [received(12), decided(12, a, { disposition: "duplicate" })];
    expect(await unanswered(filed(11, a), repeated)).to.deep.equal([11, 12]);
    expect(await unanswered(filed(11, a), repeated, sent(a))).to.deep.equal([]);
    const held = [received(13), decided(13, c, { disposition: "held_over_quota" })];
    expect(await unanswered(held)).to.deep.equal([13]);
    expect(await unanswered(filed(11, a), filed(12, b), merged(b, a))).to.deep.equal([11, 12]);
    expect(await unanswered(filed(11, a), filed(12, b), merged(b, a), sent(b))).to.deep.equal([]);
    expect(await unanswered(filed(11, a), filed(12, b), sent(b), merged(b, a))).to.deep.equal([11]);
    expect(await unanswered(filed(11, a), sent(a), merged(b, a))).to.deep.equal([]);
    expect(await unanswered(filed(11, a), merged(b, a), merged(c, b), sent(c))).to.deep.equal([]);
  });

  it("unanswered mail is the same however its events are batched", async () => {
    const random = seeded(11);
    const below = (count: number): number => Math.floor(random() * count);
    for (let round = 0; round < sized(6, 60); round++) {
      const threads = [a, b, c];
      const events: NewEvent[] = [];
      for (let n = 10; n < 22; n++) {
        const thread = threads[below(threads.length)] as string;
        events.push(...filed(n, thread));
        if (random() < 0.5) events.push(sent(threads[below(threads.length)] as string));
        if (random() < 0.3) events.push(status(threads[below(threads.length)] as string, "closed"));
        if (random() < 0.3) events.push(decided(n, thread), threaded(n, thread));
        if (random() < 0.2 && threads.length > 1) events.push(merged(threads[0] as string, threads.pop() as string));
      }
      const one = await ledger(events, (index) => index);
      expect(one).to.have.length(12);
      expect(await ledger(events, () => 0), `round ${round}`).to.deep.equal(one);
      const size = 2 + below(9);
      expect(await ledger(events, (index) => Math.floor(index / size)), `round ${round}`).to.deep.equal(one);
    }
  });
});
