import { setTimeout as sleep } from "node:timers/promises";
import { type Mailer, openMailer } from "#test/mail/in/smtpSender.ts";
import { type Installation, openInstallation } from "#test/support/installation.ts";
import type { TestService } from "#test/support/service.ts";
import { askQuestion, endOf, openTenant, type Question, sendMail, submit, type Tenant } from "#test/support/tenant.ts";
import { until } from "../support/client.ts";
import { residentMegabytes } from "../support/memory.ts";
import { copyCaused } from "./copies.ts";
import type { JudgedInstallation } from "./evidence.ts";
import type { Proof } from "./proof.ts";

/**
 * Divisors of the number of mails in an inbox: messages of 15 KB on one thread, drafts that wait on one thread, and mails that are held.
 */
const shares = { thread: 4, drafts: 20, held: 2 };
const messageBytes = 15_000;
/** Limits at full size, on an otherwise idle machine: time for the next mail or request, and memory of an instance. */
const most = { ms: 5_000, megabytes: 350 };
/** Timeout for a history of full size, on a busy machine. */
const waitMs = 3_600_000;

type History = JudgedInstallation & { size: number };

export const histories: Proof = {
  name: "histories",
  title: `long histories: the next mail, draft, send and merge take at most ${most.ms / 1_000} s, an instance at most ${most.megabytes} MB`,
  unit: "mails in an inbox; a quarter as many on one thread, a twentieth as many drafts on one, half as many held",
  full: 200_000,
  checked: 2_000,
  sample: 40,
  async run({ size, report }) {
    for (const history of [longInbox, longThread, manyDrafts, manyHeld]) {
      const installation = await openInstallation({ env: { SMTP_IN_BUDGET: "1000000,1000000" } });
      await history({ installation, report, size }).finally(installation.close);
    }
  },
};

/** Makes an inbox of mails, each on a separate thread. */
async function longInbox(history: History): Promise<void> {
  const name = `an inbox of ${history.size} mails`;
  const { tenant, mails } = await mailsOf(history, { name, mails: history.size, ownThreads: true });
  for (const what of ["without a snapshot", "with a snapshot"])
    await withInstance(history, `${name}, ${what}`, async (instance, timed) => {
      await expectRead(history, { table: "messages", of: mails });
      for (const which of ["first", "second"])
        await timed(`the ${which} mail is filed`, () => mailFiled(history, { tenant, instance }));
    });
}

/** Makes a thread of long messages. */
async function longThread(history: History): Promise<void> {
  const count = Math.ceil(history.size / shares.thread);
  const name = `a thread of ${count} messages of ${messageBytes / 1_000} KB`;
  const text = "Where is it? ".repeat(messageBytes / 13);
  const { tenant, question, mails } = await mailsOf(history, { name, mails: count, text });
  for (const what of ["without a snapshot", "with a snapshot"])
    await withInstance(history, `${name}, ${what}`, async (instance, timed) => {
      const client = tenant.at(instance);
      await expectRead(history, { table: "messages", of: mails });
      await timed("read", () => client.ask(`GET /v1/threads/${question.threadId}`));
      const newest = await newestOf(history, question);
      const { id } = await timed("draft", () => submit(client, newest));
      await timed("claim and queue", () => client.ask(`POST /v1/drafts/${id}/send`));
      const { status } = await endOf(client, id, waitMs);
      if (status !== "sent") history.report.violation(`${name}: a draft ended ${status}`);
      await timed("the next mail is filed", () => mailFiled(history, { tenant, instance, question }));
    });
}

/** Makes drafts that wait on one thread, which is then merged into another one. */
async function manyDrafts(history: History): Promise<void> {
  const { installation, report } = history;
  const drafts = Math.ceil(history.size / shares.drafts);
  const name = `${drafts} drafts on one thread`;
  const first = await installation.start();
  const tenant = await openTenant(installation, first);
  const mailer = await openMailer(first.smtpPort);
  const [other, question] = [
    await askQuestion(installation, tenant, { mailer }),
    await askQuestion(installation, tenant, { mailer }),
  ];
  const { id } = await submit(tenant.at(first), question);
  await first.stop();
  const [submitted] = await installation.rows<{ correlation: string; message: string }>(
    "select metadata ->> 'correlationId' as correlation, data ->> 'messageId' as message from es.events where stream_id = $1",
    [`draft-${id}`],
  );
  await copyCaused(installation, {
    ...{ correlationId: submitted!.correlation, renewed: [id, submitted!.message], times: drafts - 1 },
    onProgress: (copies) => report.progress(copies, drafts, name),
  });
  await withInstance(history, name, async (instance, timed) => {
    await expectRead(history, { table: "drafts", of: drafts });
    await timed("one more", () => submit(tenant.at(instance), question));
    await timed("merged by a mail that answers both", async () => {
      await sent(instance, (again) => sendMail(tenant, { mailer: again, inReplyTo: [other.id, question.id] }));
      const isMerged = async () =>
        (await installation.rows("select from read.threads where merged_into is not null")).length > 0;
      await until("the merge", isMerged, waitMs);
    });
  });
}

/** Makes mail that is held for a disabled identity, until it is enabled again. */
async function manyHeld(history: History): Promise<void> {
  const { installation } = history;
  const count = Math.ceil(history.size / shares.held);
  const name = `${count} held mails`;
  const { tenant, mails } = await mailsOf(history, { name, mails: count, held: true });
  await withInstance(history, name, async (instance, timed) => {
    await timed("one more is held", () => mailFiled(history, { tenant, instance }));
    await tenant.at(instance).ask(`PATCH /v1/identities/${tenant.identity.id}`, { status: "active" });
    const released = async () =>
      (
        await installation.rows<{ n: number }>(
          "select count(*)::int as n from es.events where type = 'MessageReceived'",
        )
      )[0]!.n >= Math.min(200, mails);
    await timed("the first 200 are released", () => until("the release", released, waitMs));
  });
}

type Mails = { name: string; mails: number; text?: string; held?: boolean; ownThreads?: boolean };

/** Makes a tenant with one mail on its thread, and copies of a second one on the same thread, on separate threads, or held. */
async function mailsOf(
  { installation, report }: History,
  { name, mails, text = "Where is it?", held = false, ownThreads = false }: Mails,
): Promise<{ tenant: Tenant; question: Question; mails: number }> {
  const instance = await installation.start();
  const tenant = await openTenant(installation, instance);
  const mailer = await openMailer(instance.smtpPort);
  const question = await askQuestion(installation, tenant, { mailer, text });
  if (held) await tenant.at(instance).ask(`PATCH /v1/identities/${tenant.identity.id}`, { status: "disabled" });
  const id = await sendMail(tenant, { mailer, text, ...(!ownThreads && { inReplyTo: [question.id] }) });
  await quiet(installation);
  await instance.stop();
  const [second] = await installation.rows<{ message: string; delivery: string; thread: string | null }>(
    `select data ->> 'messageId' as message, data ->> 'deliveryId' as delivery, data ->> 'threadId' as thread from es.events
     where type = 'FilingDecided' and data ->> 'rfcMessageId' = $1`,
    [`<${id}>`],
  );
  const { message, delivery, thread } = second!;
  const times = Math.max(1, mails - 2);
  const written = await copyCaused(installation, {
    ...{ correlationId: delivery, renewed: [id, message, delivery, ...(ownThreads ? [thread!] : [])], times },
    onProgress: (copies) => report.progress(copies, mails, name),
  });
  report.figure(`${name}: events written`, written);
  return { tenant, question, mails: times + 2 };
}

/** Waits until processes are idle: nothing has been appended for two seconds. */
async function quiet({ rows }: Installation): Promise<void> {
  const head = async () => (await rows<{ head: number }>("select max(position)::int as head from es.events"))[0]!.head;
  for (let before = -1; before !== (await head()); await sleep(2_000)) before = await head();
}

/** Measures the duration of something about the history, in an instance. */
type Timed = <T>(what: string, work: () => Promise<T>) => Promise<T>;

/** Runs `work` with an instance that starts without any state; its read models catch up first. */
async function withInstance(
  { installation, report, size }: History,
  name: string,
  work: (instance: TestService, timed: Timed) => Promise<void>,
): Promise<void> {
  const limit = (what: string, { is, atMost }: { is: number; atMost: number }): void => {
    report.figure(`${name}: ${what}`, is);
    if (size >= histories.full && is > atMost) report.violation(`${name}: ${what}: ${is}, at most ${atMost}`);
  };
  const instance = await installation.start();
  await until("the read models to catch up", async () => (await fetch(`${instance.url}/readyz`)).ok, waitMs);
  await work(instance, async (what, timed) => {
    const began = performance.now();
    const result = await timed();
    limit(`${what}, ms`, { is: Math.round(performance.now() - began), atMost: most.ms });
    return result;
  });
  limit("memory at most, MB", { is: Math.round(residentMegabytes(instance.pid)?.most ?? 0), atMost: most.megabytes });
  await instance.stop();
}

async function sent<T>(instance: TestService, send: (mailer: Mailer) => Promise<T>): Promise<T> {
  const mailer = await openMailer(instance.smtpPort);
  return send(mailer).finally(mailer.close);
}

/** Delivers one more mail, on a new thread or on the question's; resolves when the log has it filed, or held. */
async function mailFiled(
  { installation }: History,
  { tenant, instance, question }: { tenant: Tenant; instance: TestService; question?: Question },
): Promise<void> {
  const inReplyTo = question ? [question.id] : [];
  const id = await sent(instance, (mailer) => sendMail(tenant, { mailer, inReplyTo }));
  await until(`${id} to be filed`, async () => (await installation.rows(filed, [`<${id}>`])).length > 0, waitMs);
}

/** Reads only the log's end: reading a long inbox would count as the service's time. */
const filed = `with recent as materialized (
    select stream_id, type, data from es.events where position > (select max(position) - 1000 from es.events)
  )
  select 1 from recent decided join recent filed on filed.stream_id = decided.stream_id and filed.type = 'MailFiled'
    and (filed.data ->> 'number')::int >= (decided.data ->> 'number')::int
  where decided.type = 'FilingDecided' and decided.data ->> 'rfcMessageId' = $1`;

/** Checks that the history can be read: otherwise something short was measured. */
async function expectRead(
  { installation, report }: History,
  { table, of }: { table: "messages" | "drafts"; of: number },
): Promise<void> {
  const [found] = await installation.rows<{ count: number }>(`select count(*)::int as count from read.${table}`);
  if (found!.count < of) report.violation(`${found!.count} of ${of} ${table} can be read`);
}

async function newestOf({ installation }: History, question: Question): Promise<Question> {
  const [newest] = await installation.rows<{ id: string }>(
    "select id from read.messages where thread_id = $1 and direction = 'inbound' order by filing_number desc limit 1",
    [question.threadId],
  );
  return { ...question, messageId: newest!.id };
}
