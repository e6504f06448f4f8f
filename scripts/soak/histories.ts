import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../support/client.ts";
import type { Instance } from "../support/instance.ts";
import { residentMegabytes } from "../support/memory.ts";
import { type Conversation, endOf, filed, type Identity, mailOf, submit } from "./conversation.ts";
import { multiply } from "./multiplied.ts";
import { allOf, type Proof, type Report } from "./proof.ts";
import { openSender } from "./sender.ts";
import { openWorld, type World } from "./world.ts";

/** Of as many mails in an inbox: messages of 15 KB on one thread, drafts that wait on one thread, and mails that are held. */
const shares = { thread: 4, drafts: 20, held: 2 };
const messageBytes = 15_000;
/** What an instance may take, in megabytes, at full size: its highest, whatever it reads. */
const mostMegabytes = 350;
const catchUpMs = 3_600_000;

type Place = { world: World; instance: Instance };
type Proving = { world: World; report: Report; size: number };

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

/** An inbox of `size` mails, on one thread. */
async function longInbox(proving: Proving): Promise<void> {
  const name = `an inbox of ${proving.size} mails`;
  const { question, mails } = await lengthened(proving, { name, mails: proving.size });
  await withInstance(proving, name, async (instance) => {
    await expectAllRead(proving, `${name}: messages read`, { table: "messages", of: mails, question });
    await timed(proving, `${name}: the next mail is filed`, () => write({ ...proving, instance }, question));
    await timed(proving, `${name}: one more`, () => write({ ...proving, instance }, question));
  });
}

/** A thread of long messages: a draft on it is submitted and sent. */
async function longThread(proving: Proving): Promise<void> {
  const mails = Math.ceil(proving.size / shares.thread);
  const name = `a thread of ${mails} messages of ${messageBytes / 1000} KB`;
  const text = "Where is it? ".repeat(messageBytes / 13);
  const { question, mails: written } = await lengthened(proving, { name, mails, text });
  for (const what of ["without a snapshot", "with a snapshot"])
    await withInstance(proving, `${name}, ${what}`, async (instance) => {
      const client = proving.world.client(instance);
      await expectAllRead(proving, `${name}: messages read`, { table: "messages", of: written, question });
      await timed(proving, `${name}, ${what}: read`, () => client.ask(`GET /v1/threads/${question.threadId}`));
      for (const which of ["first", "second"]) {
        const newest = await newestOf(proving.world, question);
        const { id } = await timed(proving, `${name}, ${what}: ${which} draft`, () => submit(client, newest));
        await timed(proving, `${name}, ${what}: ${which} claim and queue`, () =>
          client.ask(`POST /v1/drafts/${id}/send`),
        );
        const { status } = await endOf(client, id, 120_000);
        if (status !== "sent") proving.report.violation(`${name}: a draft ended ${status}`);
      }
      await timed(proving, `${name}, ${what}: the next mail is filed`, () => write({ ...proving, instance }, question));
    });
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
  await withInstance(proving, name, async (again) => {
    const client = world.client(again);
    await expectAllRead(proving, `${name}: drafts read`, { table: "drafts", of: drafts, question });
    await timed(proving, `${name}: one more`, () => submit(client, question));
    await timed(proving, `${name}: merged by a mail that answers both`, async () => {
      await write({ world, instance: again }, question, { inReplyTo: [other.rfcMessageId, question.rfcMessageId] });
      await until("the merge", async () => {
        const merged = await world.rows("select from read.threads where merged_into is not null");
        return merged.length > 0;
      });
    });
  });
}

/** Mail held for a disabled identity, until it is enabled again. */
async function manyHeld(proving: Proving): Promise<void> {
  const { world } = proving;
  const mails = Math.ceil(proving.size / shares.held);
  const name = `${mails} held mails`;
  const { question, identity } = await lengthened(proving, { name, mails, disabled: true });
  await withInstance(proving, name, async (instance) => {
    await timed(proving, `${name}: the next mail is held`, () => write({ world, instance }, question));
    const before = await countOf(world, "MailFiled");
    const wanted = Math.min(mails, 200);
    await world.client(instance).ask(`PATCH /v1/identities/${identity.id}`, { status: "active" });
    await timed(proving, `${name}: ${wanted} of them released`, () =>
      until("the release", async () => (await countOf(world, "MailFiled")) >= before + wanted, catchUpMs),
    );
  });
}

/** A thread with one mail, and so many copies of a second one behind it. */
async function lengthened(
  proving: Proving,
  { name, mails, text, disabled }: { name: string; mails: number; text?: string; disabled?: boolean },
): Promise<{ question: Conversation; identity: Identity; mails: number }> {
  const { world } = proving;
  const instance = await world.start();
  const client = world.client(instance);
  const identity: Identity = await client.identity({ approval_channel: undefined });
  const question = await begin({ world, instance }, identity, text);
  if (disabled) await client.ask(`PATCH /v1/identities/${identity.id}`, { status: "disabled" });
  const second = await write({ world, instance }, question, { text });
  await quiet(world);
  await instance.stop();
  const [received] = await world.rows<{ id: string; delivery: string }>(
    `select data ->> 'messageId' as id, data ->> 'deliveryId' as delivery from es.events
     where type = 'FilingDecided' and data ->> 'rfcMessageId' = $1`,
    [second],
  );
  const renewed = [second, received!.id, received!.delivery];
  const times = Math.max(1, mails - 2);
  const events = await multiply(world, {
    ...{ correlationId: received!.delivery, renewed, times },
    ...progressOf(proving, { name, of: mails }),
  });
  proving.report.figure(`${name}: events written`, events);
  return { question, identity, mails: times + 2 };
}

const progressOf = ({ report }: Proving, { name, of }: { name: string; of: number }) => ({
  onProgress: (copies: number) => report.progress(copies, of, name),
});

/** A question on a thread of its own. */
async function begin({ world, instance }: Place, identity: Identity, text?: string): Promise<Conversation> {
  const sender = await openSender(instance.smtpPort);
  const id = `${randomUUID()}@soak.example`;
  await sender.send(mailOf({ id, to: identity.email_address, ...(text && { text }) }), identity.email_address);
  sender.close();
  return filed(world, identity, `<${id}>`);
}

/** One more mail on its thread, or on several; answers its id when it can be read. */
async function write(
  { world, instance }: Place,
  { identity, rfcMessageId }: Conversation,
  { inReplyTo = [rfcMessageId], text }: { inReplyTo?: readonly string[]; text?: string | undefined } = {},
): Promise<string> {
  const id = `${randomUUID()}@soak.example`;
  const sender = await openSender(instance.smtpPort);
  const mail = mailOf({ id, to: identity.email_address, inReplyTo: inReplyTo.join(" "), ...(text && { text }) });
  const told = await sender.send(mail, identity.email_address);
  sender.close();
  if (!told.startsWith("250")) throw new Error(`a mail was refused: ${told}`);
  await until(
    `<${id}> to be filed`,
    async () => (await world.rows(filedSql, [`<${id}>`, identity.id])).length > 0,
    300_000,
  );
  return `<${id}>`;
}

/** Looks at the log's end alone: it is long. */
const filedSql = `select from es.events filed
  where stream_id = 'filing-' || $2 and type = 'MailFiled' and position > (select max(position) - 1000 from es.events)
    and (data ->> 'inboxRevision')::int = (
      select revision from es.events
      where stream_id = 'inbox-' || $2 and data -> 'headers' ->> 'messageId' = $1 order by revision desc limit 1)`;

/** What was written is there to be read, at least: otherwise something short was timed. */
async function expectAllRead(
  { world, report }: Proving,
  name: string,
  { table, of, question }: { table: "messages" | "drafts"; of: number; question: Conversation },
): Promise<void> {
  const sql = `select count(*)::int as good from read.${table} where thread_id = $1`;
  const [found] = await world.rows<{ good: number }>(sql, [question.threadId]);
  allOf(report, name, { good: Math.min(found!.good, of), of });
}

async function newestOf(world: World, conversation: Conversation): Promise<Conversation> {
  const [newest] = await world.rows<{ id: string }>(
    "select id from read.messages where thread_id = $1 and direction = 'inbound' order by filing_number desc limit 1",
    [conversation.threadId],
  );
  return { ...conversation, messageId: newest!.id };
}

const countOf = async (world: World, type: string): Promise<number> =>
  (await world.rows<{ n: number }>("select count(*)::int as n from es.events where type = $1", [type]))[0]!.n;

/** Nothing has been appended for a while: processes are done with what there is. */
async function quiet(world: World): Promise<void> {
  const headOf = async () =>
    (await world.rows<{ head: number }>("select max(position) as head from es.events"))[0]!.head;
  for (let [head, same] = [await headOf(), 0]; same < 4; ) {
    await sleep(500);
    const now = await headOf();
    same = now === head ? same + 1 : 0;
    head = now;
  }
}

/** An instance that knows nothing yet; its read models catch up first. Says its highest memory. */
async function withInstance(
  { world, report, size }: Proving,
  name: string,
  work: (instance: Instance) => Promise<void>,
): Promise<void> {
  const began = performance.now();
  const instance = await world.start();
  await until("the read models to catch up", () => fetch(`${instance.url}/readyz`).then(({ ok }) => ok), catchUpMs);
  report.figure(`${name}: ready after, s`, ((performance.now() - began) / 1000).toFixed(1));
  const caughtUp = Math.round(residentMegabytes(instance.child.pid!)?.most ?? 0);
  await work(instance);
  const most = Math.round(residentMegabytes(instance.child.pid!)?.most ?? 0);
  report.figure(`${name}: memory at most, MB`, `${caughtUp} when caught up, ${most} in all`);
  if (size >= histories.full && most > mostMegabytes) report.violation(`${name}: ${most} MB`);
  await instance.stop();
}

async function timed<T>({ report }: Proving, name: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  report.figure(`${name}, ms`, Math.round(performance.now() - began));
  return result;
}
