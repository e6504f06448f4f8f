import { expect } from "chai";
import fc from "fast-check";
import { createStreamServices } from "#src/commands/handle.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { systemIds } from "#src/platform/clock.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import { cause, identityId, type SendWorld, workspaceId } from "#test/processes/sendWorld.ts";
import { mailReceived } from "#test/support/examples/index.ts";

/**
 * A mail that names others by number; mail 1 exists before. `reports`: the mail is a bounce that reports these mails, which are not ours;
 * `answered`: mails that the reported mail names.
 */
export type Sent = { number: number; names: number[]; reports?: number[] | undefined; answered?: number[] | undefined };

export const seed = 20260101;
const id = (number: number) => `<${number}@customer.example>`;

const numbers = fc.array(fc.integer({ min: 2, max: 12 }), { maxLength: 3 });

export const graph = fc
  .array(
    fc.record({
      names: numbers,
      reports: fc.option(numbers, { freq: 4, nil: undefined }),
      answered: fc.option(numbers, { freq: 2, nil: undefined }),
    }),
    { minLength: 1, maxLength: 9 },
  )
  .chain((sent) => {
    const mails = sent.map((mail, index): Sent => ({ ...mail, number: index + 2 }));
    // Delivers some mails twice, in any order.
    return fc.shuffledSubarray([...mails, ...mails.slice(0, 3)], { minLength: mails.length });
  });

/**
 * Receives the mails. `alike`: mails with the same number are the same message again (default); if false, they are different messages with
 * the same Message-ID.
 */
export async function receive(world: SendWorld, mails: readonly Sent[], { alike = true } = {}): Promise<void> {
  for (const [index, { number, names, reports, answered = [] }] of mails.entries()) {
    const rawSha256 = await world.node.blobs.put(Buffer.from(`mail ${number}`));
    const mail = mailReceived({ number, references: names.map(id), identityId, workspaceId, rawSha256 });
    const different = {
      ...(reports && { classification: "bounce" as const, reportedMessageIds: reports.map(id) }),
      ...(reports && answered.length > 0 && { reportedReferences: answered.map(id) }),
      ...(!alike && { contentDigest: `digest of delivery ${index}` }),
    };
    const delivered = { ...mail, headers: { ...mail.headers, ...different }, deliveryId: systemIds.uuid() };
    await world.node.inboxes.handle(identityId, { type: "ReceiveMail", mail: delivered }, cause);
  }
}

/** Returns the groups of mails that name each other, by number, the smallest number first. */
function expectedPartition(mails: readonly Sent[]): number[][] {
  const parent = new Map<number, number>();
  const root = (n: number): number => {
    const up = parent.get(n) ?? n;
    return up === n ? n : root(up);
  };
  for (const { number, names, reports, answered = [] } of mails) {
    const named = reports ? [...names, ...answered] : names;
    // A bounce joins the thread of a mail that it reports only if it names no mail itself; the first reported mail counts.
    for (const name of named.length > 0 ? named : (reports ?? []).slice(0, 1)) parent.set(root(name), root(number));
  }
  const groups = new Map<number, number[]>();
  for (const number of new Set([1, ...mails.map((mail) => mail.number)])) {
    groups.set(root(number), [...(groups.get(root(number)) ?? []), number]);
  }
  return normal([...groups.values()]);
}

const normal = (groups: number[][]): number[][] =>
  groups.map((group) => group.sort((a, b) => a - b)).sort((a, b) => a[0]! - b[0]!);

export async function expectFiled(world: SendWorld, mails: readonly Sent[]): Promise<void> {
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
  const bounces = new Set(mails.filter(({ reports }) => reports !== undefined).map(({ number }) => number));
  await expectSurvivorsKnow(world, groups, bounces);
}

/**
 * Expects each survivor to be the thread that was opened first, and to know the newest human mail of all threads that it absorbed. A bounce
 * is no human mail.
 */
async function expectSurvivorsKnow(
  world: SendWorld,
  groups: Map<string, number[]>,
  bounces: ReadonlySet<number>,
): Promise<void> {
  const decided = world.log.all
    .filter((event) => event.type === "FilingDecided")
    .map((event) => event.data as FilingDecision)
    .filter((decision) => decision.disposition !== "duplicate");
  for (const [threadId, members] of groups) {
    const { state } = await world.node.threads.load(threadId);
    const of = decided.filter(({ rfcMessageId }) => members.some((number) => id(number) === rfcMessageId));
    expect(state.newestNumber).to.equal(Math.max(...of.map(({ number }) => number)));
    const words = decided.filter(({ rfcMessageId }) =>
      members.some((number) => !bounces.has(number) && id(number) === rfcMessageId),
    );
    expect(state.newestWord?.number ?? 0).to.equal(Math.max(0, ...words.map(({ number }) => number)));
    const [oldest] = of.filter(({ opensThread }) => opensThread).sort((a, b) => a.number - b.number);
    expect(threadId, "the oldest survives").to.equal(oldest!.threadId);
  }
}

async function survivor(world: SendWorld, threadId: string): Promise<string> {
  const { state } = await world.node.threads.load(threadId);
  return state.mergedInto === null ? threadId : survivor(world, state.mergedInto);
}

/** Makes an instance that counts the events of filing streams that it reads. */
export function countingReads(world: SendWorld) {
  let events = 0;
  const node = world.createNode();
  const store: EventStore = {
    ...node.store,
    async read(stream, ...range) {
      const read = await node.store.read(stream, ...range);
      if (stream.startsWith("filing-")) events += read.length;
      return read;
    },
  };
  const deps = { ...node, ...createStreamServices({ store, clock: world.clock, ids: systemIds }), store };
  return { deps, read: () => events };
}
