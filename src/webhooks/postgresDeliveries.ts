import { page } from "#projections/page.ts";
import type { Database, Sql } from "#src/postgres/database.ts";
import type { Claim, ShownDelivery, WebhookDeliveries } from "./deliveries.ts";

/** Longer than an attempt lasts, all included; after that, another instance takes over from one that was cut off. */
const defaultLeaseMs = 20_000;
const keptDays = 30;
const maxAttemptsKept = 30;

/**
 * Deliveries as rows, and one row for each queue. A queue is taken by moving the moment it is due behind the lease; the same row is what a caller that
 * adds a delivery has to go through, so that no delivery is ever left without its queue.
 */
export function createPostgresDeliveries(
  database: Pick<Database, "query" | "transaction">,
  { leaseMs = defaultLeaseMs } = {},
): WebhookDeliveries {
  return {
    async add(deliveries) {
      if (deliveries.length > 0) await database.query(add, [JSON.stringify(deliveries)]);
    },
    async areDue(exceptOf) {
      const { rows } = await database.query<{ due: boolean }>(anyDue, [exceptOf]);
      return rows[0]?.due === true;
    },
    claim: ({ limit, perWebhook, perWorkspace, busy }) =>
      database.transaction(async (tx) => {
        const { rows: queues } = await tx.query<Queue>(takeQueues, [
          busy.map((each) => each.webhook_id),
          busy.map((each) => each.workspace_id),
          busy.map((each) => each.count),
          perWebhook,
          perWorkspace,
          limit,
          leaseMs,
        ]);
        if (queues.length === 0) return [];
        const heads = await begin(tx, queues);
        const used = new Set(heads.map(({ lease }) => lease));
        const empty = queues.filter(({ lease }) => !used.has(lease)).map(({ lease }) => lease);
        if (empty.length > 0) await tx.query("delete from work.webhook_queues where lease = any($1::uuid[])", [empty]);
        return heads;
      }),
    settle: (claim, attempt, verdict) =>
      database.transaction(async (tx) => {
        const ended = verdict.status === "delivered" || verdict.status === "failed";
        const tries = [...claim.tries, attempt].slice(-maxAttemptsKept);
        const counts = verdict.status !== "interrupted";
        await tx.query(lockQueue, [claim.webhook_id, claim.subject, claim.lease]);
        await tx.query(record, [claim.id, JSON.stringify(tries), ended ? verdict.status : null, counts, attempt.error]);
        const afterMs = verdict.status === "again" ? verdict.afterMs : 0;
        await tx.query(release, [claim.webhook_id, claim.subject, claim.lease, afterMs]);
      }),
    async cancel(webhookId, reason) {
      await database.query(
        `update work.webhook_deliveries set status = 'canceled', error = $2, started_at = null, ended_at = clock_timestamp()
         where webhook_id = $1 and status = 'pending'`,
        [webhookId, reason],
      );
    },
    async retry(workspaceId, webhookId, id) {
      const { rowCount } = await database.query(retry, [workspaceId, webhookId, id]);
      return (rowCount ?? 0) > 0;
    },
    async find(workspaceId, webhookId, id) {
      const { rows } = await database.query<ShownDelivery>(
        `select ${shownColumns} from work.webhook_deliveries d where ${own} and d.id = $3`,
        [workspaceId, webhookId, id],
      );
      return rows[0];
    },
    list: (workspaceId, webhookId, { status, ...window }) =>
      page<ShownDelivery>(database, {
        select: shownColumns,
        from: "work.webhook_deliveries d",
        where: [own, "($3::text is null or d.status = $3)"],
        values: [workspaceId, webhookId, status ?? null],
        order: { columns: ["d.created_at", "d.id"], direction: "desc" },
        window,
      }),
    async prune() {
      await database.query(
        "delete from work.webhook_deliveries where ended_at < clock_timestamp() - make_interval(days => $1)",
        [keptDays],
      );
    },
  };
}

type Queue = { webhook_id: string; subject: string; lease: string };

/** Updating an existing queue changes nothing, but waits for the instance that holds it: see the deletion of empty queues. */
const add = `
  with added as (
    insert into work.webhook_deliveries (id, webhook_id, workspace_id, event_id, event_type, subject, position, part, body)
    select id, webhook_id, workspace_id, event_id, event_type, subject, position, part, body
    from json_populate_recordset(null::work.webhook_deliveries, $1::json)
    on conflict (id) do nothing returning webhook_id, subject
  )
  insert into work.webhook_queues as queue (webhook_id, subject, due_at)
  select webhook_id, subject, clock_timestamp() from added group by webhook_id, subject order by webhook_id, subject
  on conflict (webhook_id, subject) do update set due_at = queue.due_at`;

/** Each webhook that has a queue, found by the index. */
const webhooksWithQueues = `
  webhooks as (
    (select webhook_id from work.webhook_queues order by webhook_id limit 1)
    union all
    select (select queue.webhook_id from work.webhook_queues queue where queue.webhook_id > webhooks.webhook_id
      order by queue.webhook_id limit 1) from webhooks where webhooks.webhook_id is not null
  )`;

/** As many queues as there may be that are not due, one of each webhook is looked at. */
const anyDue = `
  with recursive ${webhooksWithQueues}
  select exists (
    select from webhooks cross join lateral (
      select from work.webhook_queues queue
      where queue.webhook_id = webhooks.webhook_id and queue.due_at <= statement_timestamp() limit 1
    ) due where webhooks.webhook_id <> all($1::uuid[])
  ) as due`;

/**
 * Due queues in a fair order: of each webhook the longest due, then those first whose workspace has the fewest in hand. So ten thousand that are
 * due of one workspace hold up no other, and are not read either: each webhook is found, and asked, by the index.
 */
const takeQueues = `
  with recursive ${webhooksWithQueues}, busy as (
    select * from unnest($1::uuid[], $2::uuid[], $3::int[]) as busy (webhook_id, workspace_id, count)
  ), due as (
    select next.*, owner.workspace_id from webhooks left join busy using (webhook_id)
    cross join lateral (
      select webhook_id, subject, due_at from work.webhook_queues queue
      where queue.webhook_id = webhooks.webhook_id and queue.due_at <= statement_timestamp()
      order by queue.due_at limit greatest(0, $4 - coalesce(busy.count, 0))
    ) next
    left join lateral (
      select workspace_id from work.webhook_deliveries delivery
      where delivery.webhook_id = webhooks.webhook_id and status = 'pending' limit 1
    ) owner on true
  ), placed as (
    select webhook_id, subject, coalesce(in_hand.count, 0) + row_number() over (partition by workspace_id order by due_at) as place
    from due left join (select workspace_id, sum(count) as count from busy group by workspace_id) in_hand using (workspace_id)
  ), taken as (
    select queue.webhook_id, queue.subject from work.webhook_queues queue join placed using (webhook_id, subject)
    where placed.place <= $5 and queue.due_at <= statement_timestamp()
    order by placed.place, queue.due_at limit $6 for update of queue skip locked
  )
  update work.webhook_queues queue
  set due_at = clock_timestamp() + $7 * interval '1 ms', lease = gen_random_uuid()
  from taken where queue.webhook_id = taken.webhook_id and queue.subject = taken.subject
  returning queue.webhook_id, queue.subject, queue.lease`;

/** An attempt that its instance could not record is listed as interrupted. */
const interrupted = `jsonb_build_array(jsonb_build_object('at', to_char(delivery.started_at at time zone 'utc',
  'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), 'response_status', null, 'error', 'interrupted: what became of it is not known', 'duration_ms', null))`;

/** Begins a try of the first delivery of each queue. */
async function begin(tx: Sql, queues: readonly Queue[]): Promise<Claim[]> {
  const { rows } = await tx.query<Claim>(
    `update work.webhook_deliveries delivery
     set attempts = delivery.attempts + 1, started_at = clock_timestamp(),
       tries = case when delivery.started_at is null then delivery.tries else delivery.tries || ${interrupted} end
     from (
       select first.id, queue.lease from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as queue (webhook_id, subject, lease)
       cross join lateral (
         select id from work.webhook_deliveries waiting
         where waiting.webhook_id = queue.webhook_id and waiting.subject = queue.subject and waiting.status = 'pending'
         order by position, part, id limit 1
       ) first
     ) head
     where delivery.id = head.id
     returning delivery.id, webhook_id, workspace_id, event_id, event_type, subject, position, part, body, attempts,
       tries, started_at, head.lease`,
    [queues.map((each) => each.webhook_id), queues.map((each) => each.subject), queues.map((each) => each.lease)],
  );
  return rows;
}

const lockQueue = "select 1 from work.webhook_queues where webhook_id = $1 and subject = $2 and lease = $3 for update";

/** What has ended meanwhile, by another instance or by a cancellation, stays ended; the try is kept all the same. */
const record = `
  update work.webhook_deliveries set tries = $2::jsonb, started_at = null, error = $5,
    attempts = case when $4::boolean then attempts else attempts - 1 end,
    status = case when status = 'pending' then coalesce($3::text, status) else status end,
    ended_at = case when status = 'pending' and $3::text is not null then clock_timestamp() else ended_at end
  where id = $1`;

const release = `
  update work.webhook_queues set lease = null, due_at = clock_timestamp() + $4 * interval '1 ms'
  where webhook_id = $1 and subject = $2 and lease = $3`;

/** A queue that is held is left to its holder, which looks for the next delivery itself. */
const retry = `
  with again as (
    update work.webhook_deliveries set status = 'pending', ended_at = null
    where workspace_id = $1 and webhook_id = $2 and id = $3 returning webhook_id, subject
  )
  insert into work.webhook_queues as queue (webhook_id, subject, due_at)
  select webhook_id, subject, clock_timestamp() from again
  on conflict (webhook_id, subject) do update
    set due_at = case when queue.lease is null then clock_timestamp() else queue.due_at end`;

const own = "d.workspace_id = $1 and d.webhook_id = $2";

const shownColumns = `
  d.id, d.webhook_id, d.event_id, d.event_type, d.status, d.created_at,
    jsonb_array_length(d.tries) + (d.started_at is not null)::int as attempts, d.ended_at, d.error,
    d.tries as attempt_log, (d.tries -> -1 ->> 'response_status')::int as response_status,
    (d.tries -> -1 ->> 'duration_ms')::int as duration_ms,
    case when d.status = 'pending' and not exists (
      select from work.webhook_deliveries earlier
      where earlier.webhook_id = d.webhook_id and earlier.subject = d.subject and earlier.status = 'pending'
        and (earlier.position, earlier.part, earlier.id) < (d.position, d.part, d.id)
    ) then (select due_at from work.webhook_queues q where q.webhook_id = d.webhook_id and q.subject = d.subject)
    end as next_attempt_at`;
