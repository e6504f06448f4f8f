import { pino } from "pino";
import { projections } from "#projections/index.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { connectDatabase } from "#src/postgres/database.ts";
import { tablesFile } from "#src/subscriptions/projectionTables.ts";
import { verify } from "#src/subscriptions/verify.ts";
import type { SmtpRelay } from "#test/support/smtpRelay.ts";
import { approver } from "./conversation.ts";
import type { Report } from "./proof.ts";
import type { World } from "./world.ts";

type Logged = { position: number; stream: string; type: string; data: Record<string, any> };

/** What left, by draft: the attempts under which the outbox caught, or the relay took, a mail for the customer, one entry each. */
export async function handedOver(world: World): Promise<Map<string, string[]>> {
  const started = await events(world, "DeliveryStarted");
  const draftOf = new Map(started.map(({ stream, data }) => [idOf(stream), data.draftId as string]));
  const byDraft = new Map<string, string[]>();
  for (const attempt of world.relay ? takenBy(world.relay, started) : await caught(world)) {
    const draft = draftOf.get(attempt) ?? `no draft's (attempt ${attempt})`;
    byDraft.set(draft, [...(byDraft.get(draft) ?? []), attempt]);
  }
  return byDraft;
}

async function caught(world: World): Promise<string[]> {
  const mails = await world.rows<{ attempt_id: string; envelope: { to: string[] } }>(
    "select attempt_id, envelope from work.outbox order by id",
  );
  return mails.filter(({ envelope }) => !envelope.to.includes(approver)).map(({ attempt_id }) => attempt_id);
}

/** An attempt is known by the Message-ID that it was started with. */
function takenBy({ mails }: SmtpRelay, started: readonly Logged[]): string[] {
  const attemptOf = new Map(started.map(({ stream, data }) => [data.rfcMessageId as string, idOf(stream)]));
  return mails
    .filter(({ to }) => !to.includes(approver))
    .map(({ content }) => {
      const id = /^message-id:\s*(<[^>]*>)/im.exec(content.toString("latin1"))?.[1] ?? "without Message-ID";
      return attemptOf.get(id) ?? id;
    });
}

/**
 * What the log and the outbox say together about every send so far: at most one hand-over a draft and only under a started attempt,
 * each of what an approval or a key authorised, none although a newer word was filed before its claim. Answers how many left.
 */
export async function judgeSends(
  world: World,
  report: Report,
): Promise<{ left: number; acknowledgedBeforeClaim: number }> {
  const left = await handedOver(world);
  const drafts = await world.rows<Logged>(
    `select position::float8 as position, stream_id as stream, type, data - '{content}'::text[] as data
       from (select position, stream_id, type, data::jsonb as data from es.events where stream_id like 'draft-%') all_events order by 1`,
  );
  const claims = new Map((await events(world, "SendClaimed")).map((event) => [event.data.attemptId as string, event]));
  const words = await wordsByThread(world);
  let acknowledgedBeforeClaim = 0;
  for (const [draftId, attempts] of left) {
    if (attempts.length > 1) report.violation(`draft ${draftId} left ${attempts.length} times: ${attempts.join(", ")}`);
    const own = drafts.filter(({ stream }) => idOf(stream) === draftId);
    const submitted = own.find(({ type }) => type === "DraftSubmitted");
    const queued = own.filter(({ type }) => type === "DraftQueued");
    const last = queued.at(-1);
    if (!submitted || !last) {
      report.violation(`draft ${draftId} left without ever being queued`);
      continue;
    }
    const { version, contentSha256, authorisation } = last.data;
    const approved = own.some(
      ({ type, data, position }) =>
        type === "DraftApproved" &&
        data.version === version &&
        data.contentSha256 === contentSha256 &&
        position < last.position,
    );
    if (authorisation.kind === "approval" && !approved)
      report.violation(`draft ${draftId} left without an approval of its version`);
    if (own.some(({ type }) => type === "DraftRejected")) report.violation(`draft ${draftId} left although rejected`);
    const claim = claims.get(attempts[0] as string);
    if (!claim) {
      report.violation(`draft ${draftId} left without a claim`);
      continue;
    }
    const newer = (words.get(idOf(claim.stream)) ?? []).filter(({ number }) => number > submitted.data.basedOnNumber);
    if (newer.some(({ filed }) => filed < claim.position))
      report.violation(`draft ${draftId} left although a newer word was filed before its claim`);
    if (newer.some(({ acknowledged }) => acknowledged < claim.position)) acknowledgedBeforeClaim += 1;
  }
  return { left: left.size, acknowledgedBeforeClaim };
}

/** Per thread the customer's words: their numbers, and the positions at which they were acknowledged and filed. */
async function wordsByThread(world: World) {
  const acknowledged = new Map(
    (
      await world.rows<{ delivery: string; position: number }>(
        "select data ->> 'deliveryId' as delivery, position::float8 as position from es.events where type = 'MailReceived'",
      )
    ).map(({ delivery, position }) => [delivery, position]),
  );
  const filed = await world.rows<{ stream: string; position: number; number: number; delivery: string }>(
    `select received.stream_id as stream, received.position::float8 as position, (received.data ->> 'number')::int as number,
       decided.data ->> 'deliveryId' as delivery
     from es.events received
     join es.events decided on decided.type = 'FilingDecided' and decided.data ->> 'messageId' = received.data ->> 'messageId'
     where received.type = 'MessageReceived' and received.data ->> 'classification' in ('person', 'list')
       and decided.data ->> 'disposition' <> 'duplicate'`,
  );
  const byThread = new Map<string, { number: number; filed: number; acknowledged: number }[]>();
  for (const { stream, position, number, delivery } of filed) {
    const word = { number, filed: position, acknowledged: acknowledged.get(delivery) ?? position };
    byThread.set(idOf(stream), [...(byThread.get(idOf(stream)) ?? []), word]);
  }
  return byThread;
}

/** Every acknowledged mail is in the log once and is on its thread once, and no conversation has two threads. */
export async function judgeInbound(world: World, acknowledged: readonly string[], report: Report): Promise<number> {
  const inLedger = await world.rows<{ rfc_message_id: string; entries: string; threads: string; unfiled: string }>(
    `select i.rfc_message_id, count(*) as entries, count(distinct m.thread_id) as threads,
       count(*) filter (where i.message_id is null or i.disposition <> 'duplicate' and i.filed_position is null) as unfiled
     from read.inbound i left join read.messages m on m.id = i.message_id group by 1`,
  );
  const byId = new Map(inLedger.map((row) => [row.rfc_message_id, row]));
  let whole = 0;
  for (const id of acknowledged) {
    const row = byId.get(id);
    if (!row) report.violation(`${id} was acknowledged and is not in the ledger`);
    else if (Number(row.unfiled) > 0) report.violation(`${id} was acknowledged and is not filed`);
    else if (Number(row.threads) !== 1) report.violation(`${id} is on ${row.threads} threads`);
    else whole += 1;
  }
  const twice = await world.rows<{ id: string }>(
    `select data ->> 'messageId' as id from es.events where type = 'MessageReceived' group by 1 having count(*) > 1`,
  );
  for (const { id } of twice) report.violation(`message ${id} was put on a thread twice`);
  return whole;
}

/** What rules have not done yet for the mails that a rule is for, or did too often: each is walked once, and what that decided is done. */
export async function ruleFaults(world: World): Promise<{ faults: string[]; mails: number }> {
  const messages = await world.rows<{ id: string }>(
    "select data ->> 'messageId' as id from es.events where type = 'MessageReceived' and data ->> 'classification' = 'person'",
  );
  const walked = await world.rows<{ message: string; runs: number; taken: number }>(
    `select walked.data -> 'subject' ->> 'messageId' as message, count(distinct walked.stream_id)::int as runs,
       count(distinct taken.data ->> 'ruleId') filter (where taken.data ->> 'outcome' = 'done')::int as taken
     from es.events walked left join es.events taken on taken.stream_id = walked.stream_id and taken.type = 'RuleActionTaken'
     where walked.type = 'RulesEvaluated' and walked.data ->> 'triggerEvent' = 'email.received' group by 1`,
  );
  const byMessage = new Map(walked.map((row) => [row.message, row]));
  const faults = messages.flatMap(({ id }) => {
    const { runs = 0, taken = 0 } = byMessage.get(id) ?? {};
    if (runs !== 1) return [`rules walked message ${id} ${runs} times`];
    return taken === 0 ? [`what a rule decided about message ${id} was not done`] : [];
  });
  return { faults, mails: messages.length };
}

/** No submission under one Idempotency-Key made two drafts. */
export async function judgeSubmissions(world: World, report: Report): Promise<void> {
  const twice = await world.rows<{ rationale: string }>(
    "select rationale from read.drafts where rationale is not null group by 1 having count(*) > 1",
  );
  for (const { rationale } of twice) report.violation(`one submission made two drafts: ${rationale}`);
}

/** Compares every row of every read model with a replay. Answers how many rows were compared. */
export async function judgeReadModels(world: World, report: Report): Promise<number> {
  const ownerUrl = await world.ownerUrl();
  const logger = pino({ level: "silent" });
  const database = connectDatabase({ ownerUrl, serviceUrl: ownerUrl }, { onConnectionLost: () => {} });
  const store = createPostgresEventStore({ connectionString: ownerUrl, logger });
  try {
    let compared = 0;
    for (const projection of projections) {
      const signal = new AbortController().signal;
      const { rows, differing, differences } = await verify(
        { store, database, tablesSql: tablesFile, signal },
        projection,
      );
      compared += rows;
      for (const { table, side, row } of differences.slice(0, 3))
        report.violation(`${table}: only ${side}: ${row.slice(0, 300)}`);
      if (differing > 0) report.violation(`${projection.name}: ${differing} rows differ from a replay`);
    }
    return compared;
  } finally {
    await store.close();
    await database.close();
  }
}

const events = (world: World, type: string): Promise<Logged[]> =>
  world.rows(
    "select position::float8 as position, stream_id as stream, type, data from es.events where type = $1 order by es.events.position",
    [type],
  );

const idOf = (stream: string): string => stream.slice(stream.indexOf("-") + 1);
