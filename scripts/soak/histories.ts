import { until } from "../support/client.ts";
import type { Instance } from "../support/instance.ts";
import { type Conversation, endOf, submit } from "./conversation.ts";
import {
  begin,
  headOf,
  lengthened,
  middleOf,
  type Proving,
  progressOf,
  said,
  type Took,
  timed,
  timedMails,
  warmed,
  withInstance,
  write,
} from "./longHistory.ts";
import { multiply } from "./multiplied.ts";
import { allOf, type Proof } from "./proof.ts";
import { openWorld, type World } from "./world.ts";

/** Of as many mails in an inbox: messages of 15 KB on one thread, drafts that wait on one thread, and mails that are held. */
const shares = { thread: 4, drafts: 20, held: 2 };
const messageBytes = 15_000;
/**
 * At full size, on a machine that does nothing else: milliseconds that a long inbox adds to the first mail that is filed there, and until a claim is
 * answered, with a snapshot; by how much a claim may grow the memory, and the most an instance may take whatever it reads, in megabytes; how many times what the first held mails took
 * the last ones may take.
 */
const most = { addedMs: 50, claimMs: 300, claimMegabytes: 60, megabytes: 350, heldTimes: 2 };
const releaseMs = 3_600_000;

/**
 * Long histories are written into the log, as copies of what one mail or one request caused; what comes next is timed, by an instance that has
 * nothing of them in memory, and by one that has.
 */
export const histories: Proof = {
  name: "histories",
  title: "long histories: what the next mail, draft, send, merge and release take, and the instance's memory",
  unit: "mails in an inbox; a quarter as many on one thread, a twentieth as many drafts on one, half as many held",
  full: 200_000,
  checked: 2_000,
  sample: 40,
  async run(size, report) {
    for (const history of [longInbox, longThread, manyDrafts, manyHeld]) {
      const world = await openWorld({ SMTP_IN_BUDGET: "1000000,1000000" });
      try {
        await history({ world, report, size });
      } finally {
        await world.close();
      }
    }
  },
};

/** What must not be at full size. */
function limit({ report, size }: Proving, text: string, { is, atMost }: { is: number; atMost: number }): void {
  if (size >= histories.full && is > atMost) report.violation(`${text}: ${is}, at most ${atMost}`);
}

async function bounded(proving: Proving, name: string, work: Parameters<typeof withInstance>[2]): Promise<void> {
  const megabytes = await withInstance(proving, name, work);
  limit(proving, `${name}: megabytes`, { is: megabytes, atMost: most.megabytes });
}

/** Instances that file their first mail into the long inbox from its snapshot. */
const firstMails = 3;

/**
 * An inbox of `size` mails, each on a thread of its own: what a long thread takes is timed below. What the history adds to its first mail is judged: that
 * mail without what one to a short inbox takes in the same instance, the middle one of several instances. The whole is said beside it.
 */
async function longInbox(proving: Proving): Promise<void> {
  const name = `an inbox of ${proving.size} mails`;
  const { question, mails } = await lengthened(proving, { name, mails: proving.size, ownThreads: true });
  const firstInto = (instance: Instance, what: string): Promise<Took> => {
    const work = () => write({ ...proving, instance }, question);
    return timed(proving, `${name}, ${what}: the first mail is filed`, { instance, work });
  };
  await bounded(proving, `${name}, without a snapshot`, async (instance) => {
    await expectAllRead(proving, `${name}: messages read`, { table: "messages", of: mails, question });
    await firstInto(instance, "without a snapshot");
    await timedMails(proving, `${name}, without a snapshot: the next ones are filed`, { instance, question });
  });
  const firsts: { first: Took; short: Took }[] = [];
  for (let n = 1; n <= firstMails; n++) {
    const what = `with a snapshot, instance ${n}`;
    await bounded(proving, `${name}, ${what}`, async (instance) => {
      // It is timed for what the history costs, not for what a start does.
      const short = await warmed(proving, `${name}, ${what}`, instance);
      firsts.push({ short, first: await firstInto(instance, what) });
      await timedMails(proving, `${name}, ${what}: the next ones are filed`, { instance, question });
    });
  }
  const whole = middleOf(firsts.map(({ first }) => first));
  proving.report.figure(`${name}: the whole of a first mail`, said(whole));
  proving.report.figure(`${name}: of that, a mail to a short inbox`, said(middleOf(firsts.map(({ short }) => short))));
  const added = firsts.map(({ first, short }) => first.ms - short.ms).sort((a, b) => a - b);
  const middle = added[Math.floor(firstMails / 2)]!;
  proving.report.figure(`${name}: what it adds to a first mail, ms`, `${middle} (${added.join(", ")})`);
  limit(proving, `${name}: ms that it adds to a first mail`, { is: middle, atMost: most.addedMs });
}

/** A thread of long messages: a draft on it is submitted and sent. */
async function longThread(proving: Proving): Promise<void> {
  const mails = Math.ceil(proving.size / shares.thread);
  const name = `a thread of ${mails} messages of ${messageBytes / 1000} KB`;
  const text = "Where is it? ".repeat(messageBytes / 13);
  const { question, mails: written } = await lengthened(proving, { name, mails, text });
  for (const what of ["without a snapshot", "with a snapshot"])
    await bounded(proving, `${name}, ${what}`, async (instance) => {
      const client = proving.world.client(instance);
      await expectAllRead(proving, `${name}: messages read`, { table: "messages", of: written, question });
      const read = () => client.ask(`GET /v1/threads/${question.threadId}`);
      await timed(proving, `${name}, ${what}: read`, { instance, work: read });
      for (const which of ["first", "second"]) {
        const newest = await newestOf(proving.world, question);
        let id = "";
        const draft = async () => {
          id = (await submit(client, newest)).id;
        };
        await timed(proving, `${name}, ${what}: ${which} draft`, { instance, work: draft });
        const claim = () => client.ask(`POST /v1/drafts/${id}/send`);
        const took = await timed(proving, `${name}, ${what}: ${which} claim and queue`, { instance, work: claim });
        if (what === "with a snapshot") judgeClaim(proving, `${name}: ${which} claim`, took);
        const { status } = await endOf(client, id, 120_000);
        if (status !== "sent") proving.report.violation(`${name}: a draft ended ${status}`);
      }
      await timedMails(proving, `${name}, ${what}: the next mails are filed`, { instance, question });
    });
}

function judgeClaim(proving: Proving, name: string, { ms, grownMegabytes }: Took): void {
  limit(proving, `${name}: ms`, { is: ms, atMost: most.claimMs });
  limit(proving, `${name}: megabytes more`, { is: grownMegabytes, atMost: most.claimMegabytes });
}

/** Drafts that wait on one thread, which then is merged into another one. */
async function manyDrafts(proving: Proving): Promise<void> {
  const { world } = proving;
  const drafts = Math.ceil(proving.size / shares.drafts);
  const name = `${drafts} drafts on one thread`;
  const instance = await world.start();
  const identity = await world.client(instance).identity({ approval_channel: undefined });
  const [other, question] = [await begin({ world, instance }, identity), await begin({ world, instance }, identity)];
  const { id } = await submit(world.client(instance), question);
  await instance.stop();
  const [submitted] = await world.rows<{ correlation: string; message: string }>(
    "select metadata ->> 'correlationId' as correlation, data ->> 'messageId' as message from es.events where stream_id = $1",
    [`draft-${id}`],
  );
  const renewed = [id, submitted!.message];
  await multiply(world, {
    correlationId: submitted!.correlation,
    renewed,
    times: drafts - 1,
    ...progressOf(proving, { name, of: drafts }),
  });
  await bounded(proving, name, async (again) => {
    const client = world.client(again);
    await expectAllRead(proving, `${name}: drafts read`, { table: "drafts", of: drafts, question });
    await timed(proving, `${name}: one more`, { instance: again, work: () => submit(client, question) });
    const merge = async () => {
      await write({ world, instance: again }, question, { inReplyTo: [other.rfcMessageId, question.rfcMessageId] });
      await until("the merge", async () => {
        const merged = await world.rows("select from read.threads where merged_into is not null");
        return merged.length > 0;
      });
    };
    await timed(proving, `${name}: merged by a mail that answers both`, { instance: again, work: merge });
  });
}

/** Mail held for a disabled identity, until it is enabled again. */
async function manyHeld(proving: Proving): Promise<void> {
  const { world } = proving;
  const mails = Math.ceil(proving.size / shares.held);
  const name = `${mails} held mails`;
  const { question, identity, first } = await lengthened(proving, { name, mails, disabled: true });
  await bounded(proving, name, async (instance) => {
    const work = () => write({ world, instance }, question);
    await timed(proving, `${name}: one more is held`, { instance, work });
    const last = await timedMails(proving, `${name}: the last ones are held`, { instance, question });
    limit(proving, `${name}: ms of the last ones`, { is: last.ms, atMost: first!.ms * most.heldTimes });
    const head = await headOf(world);
    await world.client(instance).ask(`PATCH /v1/identities/${identity.id}`, { status: "active" });
    for (const upTo of new Set([Math.min(200, mails), Math.min(400, mails)])) {
      // Each becomes a message; filed it was when it was held.
      const released = () => until("the release", async () => (await messagesSince(world, head)) >= upTo, releaseMs);
      await timed(proving, `${name}: released up to ${upTo}`, { instance, work: released });
    }
  });
}

const messagesSince = async (world: World, head: number): Promise<number> => {
  const sql = "select count(*)::int as n from es.events where position > $1 and type = 'MessageReceived'";
  return (await world.rows<{ n: number }>(sql, [head]))[0]!.n;
};

/** What was written is there to be read, at least: otherwise something short was timed. */
async function expectAllRead(
  { world, report }: Proving,
  name: string,
  { table, of, question }: { table: "messages" | "drafts"; of: number; question: Conversation },
): Promise<void> {
  const sql = `select count(*)::int as good from read.${table} where identity_id = $1`;
  const [found] = await world.rows<{ good: number }>(sql, [question.identity.id]);
  allOf(report, name, { good: Math.min(found!.good, of), of });
}

async function newestOf(world: World, conversation: Conversation): Promise<Conversation> {
  const [newest] = await world.rows<{ id: string }>(
    "select id from read.messages where thread_id = $1 and direction = 'inbound' order by filing_number desc limit 1",
    [conversation.threadId],
  );
  return { ...conversation, messageId: newest!.id };
}
