import { readPage } from "#projections/page.ts";
import type { DatabaseRole, Sql } from "#src/platform/postgres/database.ts";
import {
  type BegunDelivery,
  maxRetried,
  type NewDelivery,
  type ShownDelivery,
  type WebhookDeliveries,
} from "./deliveries.ts";

const keptDays = 30;
const maxAttemptsKept = 30;
/** Milliseconds between removals of old deliveries, which happen when new ones are added. */
const sweepEveryMs = 3_600_000;

/** A delivery's queue and workspace, and the event that it waits with. */
export type Woken = Pick<NewDelivery, "webhook_id" | "subject" | "workspace_id" | "event_id">;

/** Stores deliveries as rows. `wake` schedules work on queues, in the transaction that adds to them. */
export function createPostgresDeliveries(
  database: DatabaseRole,
  wake: (tx: Sql, queues: readonly Woken[]) => Promise<void>,
): WebhookDeliveries {
  let sweptAt = Number.NEGATIVE_INFINITY;

  /** Never rejects: remaining rows are removed the next time. */
  async function sweep(): Promise<void> {
    const now = performance.now();
    if (now - sweptAt < sweepEveryMs) return;
    sweptAt = now;
    await database.query(removeOld).catch(() => undefined);
  }

  /** Wakes each queue once. */
  async function wakeThose(tx: Sql, rows: readonly Woken[]): Promise<void> {
    const queues = [...new Map(rows.map((row) => [`${row.webhook_id} ${row.subject}`, row])).values()];
    if (queues.length > 0) await wake(tx, queues);
  }

  /** Makes deliveries pending and due, and wakes their queues. */
  const retryWhere = (condition: string, values: readonly unknown[]) =>
    database.transaction(async (tx) => {
      const { rows } = await tx.query<Woken & { created_at: Date }>(
        `${retry} and ${condition} returning ${wokenColumns}, created_at`,
        values,
      );
      await wakeThose(tx, rows);
      return rows;
    });

  return {
    async add(deliveries) {
      await database.transaction(async (tx) => {
        const { rows } = await tx.query<Woken>(add, [JSON.stringify(deliveries)]);
        await wakeThose(tx, rows);
      });
      await sweep();
    },
    async begin({ webhookId, subject }) {
      const { rows } = await database.query<BegunDelivery & { dueInMs: number; begun: boolean }>(begin, [
        webhookId,
        subject,
      ]);
      if (rows.length === 0) return undefined;
      const { begun, dueInMs, ...delivery } = rows[0]!;
      return begun ? delivery : { dueInMs };
    },
    async settle(id, { response_body, ...attempt }, verdict) {
      const ended = verdict.status === "delivered" || verdict.status === "failed";
      const counts = verdict.status !== "interrupted";
      const afterMs = verdict.status === "again" ? verdict.afterMs : 0;
      await database.query(settle, [
        id,
        JSON.stringify(attempt),
        ended ? verdict.status : null,
        counts,
        attempt.error,
        afterMs,
        response_body,
      ]);
    },
    async endUnsent(webhookId, { status, error }) {
      await database.query(
        `update work.webhook_deliveries set status = $2, error = $3, started_at = null, ended_at = clock_timestamp()
         where webhook_id = $1 and status = 'pending'`,
        [webhookId, status, error],
      );
    },
    retry: async (workspaceId, webhookId, id) => (await retryWhere("id = $3", [workspaceId, webhookId, id])).length > 0,
    async retryAll(workspaceId, webhookId, { from, to }) {
      const rows = await retryWhere(undelivered, [workspaceId, webhookId, from, to]);
      const newest = Math.max(...rows.map(({ created_at }) => created_at.getTime()));
      return { retried: rows.length, newest: rows.length === 0 ? null : new Date(newest) };
    },
    async find(workspaceId, webhookId, id) {
      const { rows } = await database.query<ShownDelivery>(
        `select ${shownColumns} from work.webhook_deliveries d where ${own} and d.id = $3`,
        [workspaceId, webhookId, id],
      );
      return rows[0];
    },
    list: (workspaceId, webhookId, { status, ...window }) =>
      readPage<ShownDelivery>(database, {
        select: shownColumns,
        from: "work.webhook_deliveries d",
        where: [own, "($3::text is null or d.status = $3)", `(d.ended_at is null or not ${isOld("d.ended_at")})`],
        values: [workspaceId, webhookId, status ?? null],
        order: { columns: ["d.created_at", "d.id"], direction: "desc" },
        window,
      }),
  };
}

const isOld = (endedAt: string): string => `(${endedAt} < clock_timestamp() - interval '${keptDays} days')`;

/** Instances that sweep at the same time do not wait for each other. */
const removeOld = `
  delete from work.webhook_deliveries where id in (
    select id from work.webhook_deliveries where ${isOld("ended_at")} limit 10000 for update skip locked
  )`;

const wokenColumns = "webhook_id, subject, workspace_id, event_id";

/** One with an error is skipped, and wakes no queue. */
const add = `
  with added as (
    insert into work.webhook_deliveries
      (id, webhook_id, workspace_id, event_id, event_type, subject, position, part, body, error, status, ended_at)
    select id, webhook_id, workspace_id, event_id, event_type, subject, position, part, body, error,
      case when error is null then 'pending' else 'skipped' end, case when error is not null then clock_timestamp() end
    from json_populate_recordset(null::work.webhook_deliveries, $1::json)
    on conflict (id) do nothing returning ${wokenColumns}, status
  )
  select ${wokenColumns} from added where status = 'pending'`;

const withTry = (attempt: string): string =>
  `case when jsonb_array_length(delivery.tries) >= ${maxAttemptsKept} then delivery.tries - 0 else delivery.tries end || ${attempt}`;

/** An attempt that its instance could not record is listed as interrupted. */
const interrupted = `jsonb_build_object('at', to_char(delivery.started_at at time zone 'utc',
  'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'response_status', null, 'error', 'interrupted: what became of it is not known', 'duration_ms', null)`;

const begin = `
  with first as (
    select id, greatest(0, extract(epoch from next_attempt_at - clock_timestamp()) * 1000)::float as due_in_ms
    from work.webhook_deliveries where webhook_id = $1 and subject = $2 and status = 'pending'
    order by position, part, id limit 1
  ),
  begun as (
    update work.webhook_deliveries delivery
    set attempts = delivery.attempts + 1, started_at = clock_timestamp(),
      tries = case when delivery.started_at is null then delivery.tries else ${withTry(interrupted)} end
    from first where delivery.id = first.id and first.due_in_ms = 0 and delivery.status = 'pending'
    returning delivery.id, event_id, body, attempts
  )
  select id, begun.event_id, begun.body, begun.attempts as attempt, begun.attempts is not null as begun, first.due_in_ms as "dueInMs"
  from first left join begun using (id)`;

/**
 * A delivery that another instance or a cancellation has ended meanwhile stays ended, unless the receiver took it; the attempt is recorded
 * all the same.
 */
const settle = `
  update work.webhook_deliveries delivery set tries = ${withTry("$2::jsonb")}, started_at = null, error = $5,
    attempts = case when $4::boolean then attempts else attempts - 1 end,
    next_attempt_at = clock_timestamp() + $6 * interval '1 ms', response_body = $7,
    status = case when status = 'pending' or $3::text = 'delivered' then coalesce($3::text, status) else status end,
    ended_at = case when status = 'pending' and $3::text is not null then clock_timestamp() else ended_at end
  where id = $1`;

const retry = `
  update work.webhook_deliveries set status = 'pending', ended_at = null, next_attempt_at = clock_timestamp()
  where workspace_id = $1 and webhook_id = $2`;

const undelivered = `id in (
    select id from work.webhook_deliveries
    where workspace_id = $1 and webhook_id = $2 and status in ('failed', 'canceled', 'skipped')
      and created_at >= $3 and ($4::timestamptz is null or created_at < $4::timestamptz + interval '1 ms')
      and event_type <> 'webhook.test'
    order by created_at, id limit ${maxRetried}
  )`;

const own = "d.workspace_id = $1 and d.webhook_id = $2";

const shownColumns = `
  d.id, d.webhook_id, d.event_id, d.event_type, d.status, d.created_at,
    jsonb_array_length(d.tries) + (d.started_at is not null)::int as attempts, d.ended_at, d.error,
    d.body::json as payload, d.response_body,
    d.tries as attempt_log, (d.tries -> -1 ->> 'response_status')::int as response_status,
    (d.tries -> -1 ->> 'duration_ms')::int as duration_ms,
    case when d.status = 'pending' and not exists (
      select from work.webhook_deliveries earlier
      where earlier.webhook_id = d.webhook_id and earlier.subject = d.subject and earlier.status = 'pending'
        and (earlier.position, earlier.part, earlier.id) < (d.position, d.part, d.id)
    ) then d.next_attempt_at end as next_attempt_at`;
