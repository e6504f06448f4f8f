import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { until } from "../support/client.ts";
import { cpuSecondsOf, cpuSecondsOfServer } from "../support/cpuSeconds.ts";
import type { Instance } from "../support/instance.ts";
import { residentMegabytes } from "../support/memory.ts";
import { type Conversation, filed, type Identity, mailOf } from "./conversation.ts";
import { multiply } from "./multiplied.ts";
import type { Report } from "./proof.ts";
import { openSender } from "./sender.ts";
import type { World } from "./world.ts";

export type Place = { world: World; instance: Instance };
export type Proving = { world: World; report: Report; size: number };

/**
 * How long something took by the clock, and the CPU of service and PostgreSQL meanwhile, in milliseconds; by how many megabytes the service grew at
 * most. `acknowledgedMs`: of a mail, until its sender was told 250.
 */
export type Took = {
  ms: number;
  acknowledgedMs: number | undefined;
  cpuMs: number;
  postgresMs: number;
  grownMegabytes: number;
};

/** Of a history of full size, on a machine that is busy. */
const longestMs = 3_600_000;
const warmingMails = 60;

type Lengthened = { name: string; mails: number; text?: string; disabled?: boolean; ownThreads?: boolean };

/**
 * A thread with one mail, and so many copies of a second one behind it, or each on a thread of its own. `first`: what the first ones took that were
 * held.
 */
export async function lengthened(
  proving: Proving,
  { name, mails, text, disabled, ownThreads = false }: Lengthened,
): Promise<{ question: Conversation; identity: Identity; mails: number; first: Took | undefined }> {
  const { world } = proving;
  const instance = await world.start();
  const client = world.client(instance);
  const identity: Identity = await client.identity({ approval_channel: undefined });
  const question = await begin({ world, instance }, identity, text);
  if (disabled) await client.ask(`PATCH /v1/identities/${identity.id}`, { status: "disabled" });
  const first = disabled && (await timedMails(proving, `${name}: the first ones are held`, { instance, question }));
  // The newest of all: the copies go on from its number.
  const second = await write({ world, instance }, question, { text, ...(ownThreads && { inReplyTo: [] }) });
  await quiet(world);
  await instance.stop();
  const [received] = await world.rows<{ id: string; delivery: string; thread: string }>(
    `select data ->> 'messageId' as id, data ->> 'deliveryId' as delivery, data ->> 'threadId' as thread from es.events
     where type = 'FilingDecided' and data ->> 'rfcMessageId' = $1`,
    [second.rfcMessageId],
  );
  const renewed = [second.rfcMessageId, received!.id, received!.delivery, ...(ownThreads ? [received!.thread] : [])];
  const times = Math.max(1, mails - 2);
  const began = performance.now();
  const events = await multiply(world, {
    ...{ correlationId: received!.delivery, renewed, times },
    ...progressOf(proving, { name, of: mails }),
  });
  proving.report.figure(`${name}: events written`, `${events} in ${secondsSince(began)} s`);
  return { question, identity, mails: times + 2, first: first || undefined };
}

export const progressOf = ({ report }: Proving, { name, of }: { name: string; of: number }) => ({
  onProgress: (copies: number) => report.progress(copies, of, name),
});

/** A question on a thread of its own. */
export async function begin({ world, instance }: Place, identity: Identity, text?: string): Promise<Conversation> {
  const sender = await openSender(instance.smtpPort);
  const id = `${randomUUID()}@soak.example`;
  await sender.send(mailOf({ id, to: identity.email_address, ...(text && { text }) }), identity.email_address);
  sender.close();
  return filed(world, identity, `<${id}>`);
}

/**
 * One more mail on its thread, or on several. `ms`: from its first byte until the log has it filed, or held; `acknowledgedMs`: until its sender was
 * told so.
 */
export async function write(
  { world, instance }: Place,
  { identity, rfcMessageId }: Conversation,
  { inReplyTo = [rfcMessageId], text }: { inReplyTo?: readonly string[]; text?: string | undefined } = {},
): Promise<{ rfcMessageId: string; ms: number; acknowledgedMs: number }> {
  const id = `${randomUUID()}@soak.example`;
  const sender = await openSender(instance.smtpPort);
  const mail = mailOf({ id, to: identity.email_address, inReplyTo: inReplyTo.join(" "), ...(text && { text }) });
  const began = Date.now();
  const told = await sender.send(mail, identity.email_address);
  const acknowledgedMs = Date.now() - began;
  sender.close();
  if (!told.startsWith("250")) throw new Error(`a mail was refused: ${told}`);
  const at = await until(
    `<${id}> to be filed`,
    async () => (await world.rows<{ at: Date }>(filedSql, [`<${id}>`, identity.id]))[0]?.at,
    longestMs,
  );
  return { rfcMessageId: `<${id}>`, ms: at.getTime() - began, acknowledgedMs };
}

/** Looks at the log's end alone, whatever PostgreSQL thinks of it: a look through a long inbox would count as the service's time. */
const filedSql = `with recent as materialized (
    select stream_id, revision, type, data, recorded_at from es.events where position > (select max(position) - 1000 from es.events)
  ), received as (
    select revision from recent where stream_id = 'inbox-' || $2 and data -> 'headers' ->> 'messageId' = $1
    order by revision desc limit 1
  )
  select recorded_at as at from recent
  where stream_id = 'filing-' || $2 and type = 'MailFiled' and (data ->> 'inboxRevision')::int = (select revision from received)`;

/** Mails one after the other: what the middle one of five takes. */
export async function timedMails(
  proving: Proving,
  name: string,
  { instance, question }: { instance: Instance; question: Conversation },
): Promise<Took> {
  const took: Took[] = [];
  for (let n = 0; n < 5; n++)
    took.push(await tookOf({ ...proving, instance }, () => write({ ...proving, instance }, question)));
  const middle = middleOf(took);
  proving.report.figure(`${name}, each`, said(middle));
  return middle;
}

/** The one in the middle by the clock. */
export const middleOf = (took: readonly Took[]): Took =>
  took.toSorted((a, b) => a.ms - b.ms)[Math.floor(took.length / 2)]!;

/**
 * What it takes to file a mail is run often enough that it is compiled: an instance that has just started takes hundreds of milliseconds for its first mail
 * wherever it goes. Answers what a mail takes by then, each to an inbox of a few.
 */
export async function warmed(proving: Proving, name: string, instance: Instance): Promise<Took> {
  const identity: Identity = await proving.world.client(instance).identity({ approval_channel: undefined });
  const question = await begin({ ...proving, instance }, identity);
  for (let n = 0; n < warmingMails; n++) await write({ ...proving, instance }, question);
  return timedMails(proving, `${name}: mails to a short inbox before`, { instance, question });
}

/** Nothing has been appended for a while: processes are done with what there is. */
async function quiet(world: World): Promise<void> {
  for (let [head, same] = [await headOf(world), 0]; same < 4; ) {
    await sleep(500);
    const now = await headOf(world);
    same = now === head ? same + 1 : 0;
    head = now;
  }
}

export const headOf = async (world: World): Promise<number> =>
  (await world.rows<{ head: number }>("select max(position)::int as head from es.events"))[0]!.head;

/** An instance that knows nothing yet; its read models catch up first. Says its highest memory, and answers it. */
export async function withInstance(
  { world, report }: Proving,
  name: string,
  work: (instance: Instance) => Promise<void>,
): Promise<number> {
  const began = performance.now();
  const instance = await world.start();
  await until("the read models to catch up", () => fetch(`${instance.url}/readyz`).then(({ ok }) => ok), longestMs);
  report.figure(`${name}: ready after, s`, secondsSince(began));
  const caughtUp = mostOf(instance);
  let most = caughtUp;
  const watch = setInterval(() => {
    most = Math.max(most, mostOf(instance));
  }, 100);
  await work(instance).finally(() => clearInterval(watch));
  most = Math.max(most, mostOf(instance));
  report.figure(`${name}: memory at most, MB`, `${caughtUp} when caught up, ${most} in all`);
  await instance.stop();
  return most;
}

export async function timed(
  { world, report }: Proving,
  name: string,
  { instance, work }: { instance: Instance; work: () => Promise<unknown> },
): Promise<Took> {
  const took = await tookOf({ world, instance }, work);
  report.figure(name, said(took));
  return took;
}

/** By the clock, or as `work` says in `ms`, and in `acknowledgedMs`. */
async function tookOf({ world, instance }: Place, work: () => Promise<unknown>): Promise<Took> {
  const pid = instance.child.pid!;
  const postgresSeconds = () => cpuSecondsOfServer((sql) => world.rows(sql));
  const before = residentMegabytes(pid)?.now ?? 0;
  forgetMost(pid);
  const postgres = await postgresSeconds();
  const [began, cpu] = [performance.now(), cpuSecondsOf(pid)];
  const result = await work();
  const { ms = performance.now() - began, acknowledgedMs } = (result ?? {}) as Partial<Took>;
  return {
    ms: Math.round(ms),
    acknowledgedMs,
    cpuMs: Math.round((cpuSecondsOf(pid) - cpu) * 1000),
    postgresMs: Math.round(((await postgresSeconds()) - postgres) * 1000),
    grownMegabytes: mostOf(instance) - Math.round(before),
  };
}

export const said = ({ ms, acknowledgedMs, cpuMs, postgresMs, grownMegabytes }: Took): string =>
  `${ms} ms${acknowledgedMs === undefined ? "" : `, acknowledged after ${acknowledgedMs}`}; CPU ${cpuMs} ms, PostgreSQL's ${postgresMs} ms; ${grownMegabytes} MB more`;

const mostOf = ({ child }: Instance): number => Math.round(residentMegabytes(child.pid!)?.most ?? 0);

/** From now on, "at most" is since now; where the system lets us. */
function forgetMost(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, "5");
  } catch {}
}

const secondsSince = (began: number): string => ((performance.now() - began) / 1000).toFixed(1);
