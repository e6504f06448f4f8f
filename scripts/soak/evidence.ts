import { pino } from "pino";
import { projections } from "#projections/index.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { connectDatabase } from "#src/platform/postgres/database.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import type { Installation } from "#test/support/installation.ts";
import { customer } from "#test/support/tenant.ts";
import type { Report } from "./proof.ts";

type Logged = { position: number; stream: string; type: string; data: Record<string, any> };

/** An installation under test, and its report. */
export type JudgedInstallation = { installation: Installation; report: Report };

/**
 * Returns the attempts under which the relay accepted a mail for the customer, one entry per mail, by draft. An attempt is identified by
 * its Message-ID.
 */
async function handedOver(installation: Installation): Promise<Map<string, string[]>> {
  const started = await events(installation, "DeliveryStarted");
  const attempts = new Map(
    started.map(({ stream, data }) => [data.rfcMessageId, { id: idOf(stream), draftId: data.draftId as string }]),
  );
  const byDraft = new Map<string, string[]>();
  for (const { to, content } of installation.relay.mails) {
    if (!to.includes(customer)) continue;
    const messageId = /^message-id:\s*(<[^>]*>)/im.exec(content.toString("latin1"))?.[1] ?? "no Message-ID";
    const { id, draftId } = attempts.get(messageId) ?? { id: messageId, draftId: `no draft's (${messageId})` };
    byDraft.set(draftId, [...(byDraft.get(draftId) ?? []), id]);
  }
  return byDraft;
}

/**
 * Compares the log with the mails that the relay accepted: at most one mail per draft, under a claim and an attempt that was started,
 * with content that an approval or a key authorised, and none if a newer message was acknowledged before its claim. Returns the number of
 * drafts handed over.
 */
export async function judgeSends({ installation, report }: JudgedInstallation): Promise<number> {
  const taken = await handedOver(installation);
  const drafts = await installation.rows<Logged>(
    `select position::float8 as position, stream_id as stream, type, data::jsonb - '{content}'::text[] as data
     from es.events where stream_id like 'draft-%' order by es.events.position`,
  );
  const eventsOf = new Map<string, Logged[]>();
  for (const event of drafts) eventsOf.set(event.stream, [...(eventsOf.get(event.stream) ?? []), event]);
  const claims = new Map((await events(installation, "SendClaimed")).map((event) => [event.data.attemptId, event]));
  const messages = await messagesByThread(installation);
  for (const [draftId, attempts] of taken) {
    const own = eventsOf.get(`draft-${draftId}`) ?? [];
    const submitted = own.find(({ type }) => type === "DraftSubmitted");
    const queued = own.findLast(({ type }) => type === "DraftQueued");
    const claim = claims.get(attempts[0]);
    const found = (text: string): void => report.violation(`draft ${draftId} was handed over ${text}`);
    if (attempts.length > 1) found(`${attempts.length} times: ${attempts.join(", ")}`);
    if (!submitted || !queued || !claim) {
      found("without being submitted, queued and claimed");
      continue;
    }
    const { version, contentSha256, authorisation } = queued.data;
    const isOfIt = ({ type, data, position }: Logged): boolean =>
      type === "DraftApproved" &&
      data.version === version &&
      data.contentSha256 === contentSha256 &&
      position < queued.position;
    if (authorisation.kind === "approval" && !own.some(isOfIt)) found("without an approval of its version");
    if (own.some(({ type }) => type === "DraftRejected")) found("although it was rejected");
    const newer = (messages.get(idOf(claim.stream)) ?? []).filter(
      ({ number }) => number > submitted.data.basedOnNumber,
    );
    if (newer.some(({ acknowledged }) => acknowledged < claim.position))
      found("although a newer message was acknowledged before its claim");
  }
  return taken.size;
}

/** People's messages by thread: the number of each on its thread, and the log position at which it was acknowledged. */
async function messagesByThread(installation: Installation) {
  const rows = await installation.rows<{ thread: string; number: number; acknowledged: number }>(
    `select message.stream_id as thread, (message.data ->> 'number')::int as number, received.position::float8 as acknowledged
     from es.events message
     join es.events decided on decided.type = 'FilingDecided' and decided.data ->> 'messageId' = message.data ->> 'messageId'
       and decided.data ->> 'disposition' <> 'duplicate'
     join es.events received on received.type = 'MailReceived' and received.data ->> 'deliveryId' = decided.data ->> 'deliveryId'
     where message.type = 'MessageReceived' and message.data ->> 'classification' in ('person', 'list')`,
  );
  const byThread = new Map<string, typeof rows>();
  for (const row of rows) byThread.set(idOf(row.thread), [...(byThread.get(idOf(row.thread)) ?? []), row]);
  return byThread;
}

/**
 * Checks that each of these drafts is sent and was accepted by the relay once, or failed as unconfirmed and was accepted at most once.
 */
export async function judgeEnds(
  { installation, report }: JudgedInstallation,
  drafts: readonly string[],
): Promise<void> {
  const taken = await handedOver(installation);
  const rows = await installation.rows<{ stream: string; end: string }>(
    `select stream_id as stream, coalesce(data ->> 'code', type) as end from es.events
     where type in ('DraftSent', 'DraftFailed', 'DraftMarkedStale') and stream_id = any($1)`,
    [drafts.map((id) => `draft-${id}`)],
  );
  const ends = new Map(rows.map(({ stream, end }) => [idOf(stream), end]));
  const counts: Record<string, number> = {};
  for (const id of drafts) {
    const [end = "no end", times] = [ends.get(id), taken.get(id)?.length ?? 0];
    counts[end] = (counts[end] ?? 0) + 1;
    if (end === "DraftSent" ? times !== 1 : end !== "unconfirmed" || times > 1)
      report.violation(`draft ${id} (${end}) was handed over ${times} times`);
  }
  report.figure("drafts by end", said(counts));
}

export const said = (counts: Record<string, number>): string =>
  Object.entries(counts)
    .map(([what, count]) => `${count} ${what}`)
    .join(", ");

/**
 * Checks that each acknowledged mail is in the ledger and filed on one thread, and that no message is on a thread twice. Returns the
 * number of mails that are.
 */
export async function judgeInbound(
  { installation, report }: JudgedInstallation,
  acknowledged: readonly string[],
): Promise<number> {
  const rows = await installation.rows<{ id: string; threads: number; unfiled: number }>(
    `select i.rfc_message_id as id, count(distinct m.thread_id)::int as threads,
       count(*) filter (where i.message_id is null or i.disposition <> 'duplicate' and i.filed_position is null)::int as unfiled
     from read.inbound i left join read.messages m on m.id = i.message_id group by 1`,
  );
  const ledger = new Map(rows.map((row) => [row.id, row]));
  const faulty = acknowledged.filter((id) => {
    const row = ledger.get(id);
    return row?.unfiled !== 0 || row.threads !== 1;
  });
  for (const id of faulty)
    report.violation(`${id} was acknowledged, and the ledger has ${JSON.stringify(ledger.get(id))}`);
  const twice = await installation.rows<{ id: string }>(
    "select data ->> 'messageId' as id from es.events where type = 'MessageReceived' group by 1 having count(*) > 1",
  );
  for (const { id } of twice) report.violation(`message ${id} was put on a thread twice`);
  return acknowledged.length - faulty.length;
}

/**
 * Finds mails written by people that rules have not processed exactly once, or whose actions are not done, given a rule for every mail.
 */
export async function ruleFaults(installation: Installation): Promise<string[]> {
  const rows = await installation.rows<{ id: string; runs: number; taken: number }>(
    `select message.data ->> 'messageId' as id, count(distinct walked.stream_id)::int as runs,
       count(distinct taken.data ->> 'ruleId')::int as taken
     from es.events message
     left join es.events walked on walked.type = 'RulesEvaluated' and walked.data ->> 'triggerEvent' = 'email.received'
       and walked.data -> 'subject' ->> 'messageId' = message.data ->> 'messageId'
     left join es.events taken on taken.stream_id = walked.stream_id and taken.type = 'RuleActionTaken'
       and taken.data ->> 'outcome' = 'done'
     where message.type = 'MessageReceived' and message.data ->> 'classification' = 'person' group by 1`,
  );
  return rows
    .filter(({ runs, taken }) => runs !== 1 || taken === 0)
    .map(({ id, runs, taken }) => `rules walked message ${id} ${runs} times, and ${taken} did what they say`);
}

/** Compares every row of every read model with a replay. */
export async function judgeReadModels({ installation, report }: JudgedInstallation): Promise<void> {
  const { ownerUrl } = await installation.urls();
  const database = connectDatabase({ ownerUrl, serviceUrl: ownerUrl });
  const store = createPostgresEventStore({ connectionString: ownerUrl, logger: pino({ level: "silent" }) });
  const { signal } = new AbortController();
  try {
    let compared = 0;
    for (const projection of projections) {
      const found = await verify({ store, database, tablesSql: tablesFile, signal }, projection);
      compared += found.rows;
      for (const { table, side, row } of found.differences.slice(0, 3))
        report.violation(`${table}: only ${side}: ${row.slice(0, 300)}`);
      if (found.differing > 0) report.violation(`${projection.name}: ${found.differing} rows differ from a replay`);
    }
    report.figure("read model rows equal to a replay", compared);
  } finally {
    await store.close();
    await database.close();
  }
}

const events = (installation: Installation, type: string): Promise<Logged[]> =>
  installation.rows(
    "select position::float8 as position, stream_id as stream, type, data from es.events where type = $1 order by es.events.position",
    [type],
  );

const idOf = (stream: string): string => stream.slice(stream.indexOf("-") + 1);
