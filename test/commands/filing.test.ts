import { expect } from "chai";
import fc from "fast-check";
import { systemIds } from "#src/clock.ts";
import { fileInbox } from "#src/commands/filing.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import { inboxDecider } from "#streams/inbox/decider.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import { threadDecider } from "#streams/thread/decider.ts";
import { threadStream } from "#streams/thread/events.ts";
import { cause, createSendWorld, identityId, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { mailReceived } from "#test/support/examples/index.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";

/** A mail that names others, by number; mail 1 is there before. */
type Sent = { number: number; names: number[] };

const seed = 20260101;
const id = (number: number) => `<${number}@customer.example>`;

const graph = fc
  .array(fc.array(fc.integer({ min: 2, max: 12 }), { maxLength: 3 }), { minLength: 1, maxLength: 9 })
  .chain((named) => {
    const mails = named.map((names, index): Sent => ({ number: index + 2, names }));
    // Some come again, and they come in any order.
    return fc.shuffledSubarray([...mails, ...mails.slice(0, 3)], { minLength: mails.length });
  });

async function receive(world: SendWorld, mails: readonly Sent[]): Promise<void> {
  for (const { number, names } of mails) {
    const rawSha256 = await world.node.blobs.put(Buffer.from(`mail ${number}`));
    const mail = mailReceived({ number, references: names.map(id), identityId, workspaceId, rawSha256 });
    const delivered = { ...mail, deliveryId: systemIds.uuid() };
    await world.node.handle(inboxDecider, inboxStream(identityId), { type: "ReceiveMail", mail: delivered }, cause);
  }
}

/** What the mails say belongs together, by number, smallest first. */
function expectedPartition(mails: readonly Sent[]): number[][] {
  const parent = new Map<number, number>();
  const root = (n: number): number => {
    const up = parent.get(n) ?? n;
    return up === n ? n : root(up);
  };
  for (const { number, names } of mails) for (const name of names) parent.set(root(name), root(number));
  const groups = new Map<number, number[]>();
  for (const number of new Set([1, ...mails.map((mail) => mail.number)])) {
    groups.set(root(number), [...(groups.get(root(number)) ?? []), number]);
  }
  return normal([...groups.values()]);
}

const normal = (groups: number[][]): number[][] =>
  groups.map((group) => group.sort((a, b) => a - b)).sort((a, b) => a[0]! - b[0]!);

async function expectFiled(world: SendWorld, mails: readonly Sent[]): Promise<void> {
  const received = world.log.all.filter((event) => event.type === "MessageReceived");
  const numbers = received.map((event) => Number(/\d+/.exec(event.data.rfcMessageId as string)![0]));
  expect(
    [...numbers].sort((a, b) => a - b),
    "each message once",
  ).to.deep.equal([...new Set([1, ...mails.map((mail) => mail.number)])].sort((a, b) => a - b));
  const groups = new Map<string, number[]>();
  for (const [index, event] of received.entries()) {
    const threadId = await survivor(world, event.stream.slice("thread-".length));
    groups.set(threadId, [...(groups.get(threadId) ?? []), numbers[index]!]);
  }
  expect(normal([...groups.values()]), "who is in a thread with whom").to.deep.equal(expectedPartition(mails));
  const newest = new Map<string, number>();
  for (const event of received) {
    const number = event.data.number as number;
    expect(number, `filing numbers of ${event.stream}`).to.be.above(newest.get(event.stream) ?? 0);
    newest.set(event.stream, number);
  }
  await expectSurvivorsKnow(world, groups);
}

/** A survivor is the thread opened first, and knows the newest word of all it absorbed. */
async function expectSurvivorsKnow(world: SendWorld, groups: Map<string, number[]>): Promise<void> {
  const decided = world.log.all
    .filter((event) => event.type === "FilingDecided")
    .map((event) => event.data as unknown as FilingDecision)
    .filter((decision) => decision.disposition === "threaded");
  for (const [threadId, members] of groups) {
    const { state } = await world.node.load(threadDecider, threadStream(threadId));
    const of = decided.filter(({ rfcMessageId }) => members.some((number) => id(number) === rfcMessageId));
    expect(state.newestNumber).to.equal(Math.max(...of.map(({ number }) => number)));
    expect(state.newestWord?.number).to.equal(state.newestNumber);
    const [oldest] = of.filter(({ opensThread }) => opensThread).sort((a, b) => a.number - b.number);
    expect(threadId, "the oldest survives").to.equal(oldest!.threadId);
  }
}

async function survivor(world: SendWorld, threadId: string): Promise<string> {
  const { state } = await world.node.load(threadDecider, threadStream(threadId));
  return state.mergedInto === null ? threadId : survivor(world, state.mergedInto);
}

describe("filing", () => {
  const property = (runs: number, check: (world: SendWorld, mails: Sent[]) => Promise<void>) =>
    fc.assert(
      fc.asyncProperty(graph, async (mails) => check(await createSendWorld({ deliveries: 1 }), mails)),
      { seed, numRuns: runs },
    );

  it("joins exactly what names each other, in whatever order it comes, and repeating it changes nothing", () =>
    property(150, async (world, mails) => {
      for (const mail of mails) {
        await receive(world, [mail]);
        if (mail.number % 2) await fileInbox(world.node, identityId, cause);
      }
      await fileInbox(world.node, identityId, cause);
      await expectFiled(world, mails);
      const length = world.log.all.length;
      await fileInbox(world.node, identityId, cause);
      await fileInbox(world.createNode(), identityId, cause);
      expect(world.log.all.length).to.equal(length);
    })).timeout(60_000);

  it("does the same with two filers at once", () =>
    property(100, async (world, mails) => {
      const other = world.createNode();
      await receive(world, mails);
      await Promise.all([fileInbox(world.node, identityId, cause), fileInbox(other, identityId, cause)]);
      await expectFiled(world, mails);
    })).timeout(60_000);

  it("does the same when a filer is stopped in the middle and goes on after another one is done", () =>
    property(60, async (world, mails) => {
      await receive(world, mails);
      const slow = world.createNode();
      const { reached, release } = slow.faulty.pause("thread");
      const late = fileInbox(slow, identityId, cause);
      await reached;
      await fileInbox(world.node, identityId, cause);
      release();
      await late;
      await expectFiled(world, mails);
    })).timeout(60_000);

  for (const when of ["before", "after"] as const) {
    for (const how of ["crash", "unavailable"] as const) {
      it(`does the same after a ${how} ${when} any append`, () =>
        property(12, async (_, mails) => {
          for (let at = 1, reached = true; reached; at++) {
            const world = await createSendWorld({ deliveries: 1 });
            await receive(world, mails);
            const faulty = world.createNode({ at, when, how });
            await fileInbox(faulty, identityId, cause).catch((error: unknown) => {
              if (!(error instanceof Crashed || error instanceof Unavailable)) throw error;
            });
            reached = faulty.faulty.appends >= at;
            // The one that failed goes on with what it remembers, or another takes its place.
            await fileInbox(how === "crash" ? world.createNode() : faulty, identityId, cause);
            await expectFiled(world, mails);
          }
        })).timeout(120_000);
    }
  }
});
