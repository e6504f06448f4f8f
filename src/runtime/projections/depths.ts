import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { QueueDepths } from "#src/platform/metrics/metrics.ts";
import type { Database, Sql } from "#src/platform/postgres/database.ts";
import { loadReadModels, mainGroup, type StoredReadModel } from "./checkpoints.ts";

/** Returns how much work is waiting where, over all instances. */
export async function readDepths({
  database,
  store,
  projections,
  isPaused,
}: {
  database: Database;
  store: Pick<EventStore, "head">;
  projections: readonly Pick<Projection, "name" | "independent">[];
  /** True if the operator has paused all sending. */
  isPaused: () => Promise<boolean>;
}): Promise<QueueDepths> {
  // The head is read first: a process that is ahead of it has caught up.
  const head = await store.head();
  const behind = (position: number): number => Math.max(0, head - position);
  const names = projections.map(({ name }) => name);
  const [readModels, planned, lanes, timersDue, parked, drafts, webhookDeliveriesPending, paused] = await Promise.all([
    loadReadModels(database, names),
    counts(database, "select name, planned as count from work.planned"),
    lanesOf(database),
    counts(
      database,
      "select process as name, count(*) from work.items where timer is not null and due_at <= now() group by process",
    ),
    counts(database, "select process as name, count(*) from work.parked group by process"),
    draftsOf(database),
    counts(database, "select 'all' as name, count(*) from work.webhook_deliveries where status = 'pending'"),
    isPaused(),
  ]);
  return {
    projectionLag: new Map([...readModels].map(([name, { position }]) => [name, behind(position)])),
    projectionLeft: leftBehind(readModels, projections),
    processLag: new Map([...planned].map(([name, position]) => [name, behind(position)])),
    webhookDeliveriesPending: webhookDeliveriesPending.get("all") ?? 0,
    ...lanes,
    ...drafts,
    ...{ timersDue, parked, paused },
  };
}

/** 1 for each read model that was ejected from the main group, 0 for those in it. */
const leftBehind = (
  stored: ReadonlyMap<string, StoredReadModel>,
  projections: readonly Pick<Projection, "name" | "independent">[],
): Map<string, number> =>
  new Map(
    projections
      .filter(({ name, independent }) => !independent && stored.has(name))
      .map(({ name }) => [name, stored.get(name)!.checkpoint === mainGroup ? 0 : 1]),
  );

/** SQL over `work.lanes`: seconds that the oldest ready lane has waited, by PostgreSQL's clock; 0 if none is ready. */
export const oldestReadySql = `coalesce(extract(epoch from clock_timestamp() - min(ready_at) filter (where state = 'ready')), 0)::float`;

type Lanes = { process: string; ready: number; oldest: number; running: number; aside: number };

async function lanesOf(
  sql: Sql,
): Promise<Pick<QueueDepths, "lanesReady" | "oldestReadySeconds" | "lanesRunning" | "lanesSetAside">> {
  const { rows } = await sql.query<Lanes>(
    `select process, count(*) filter (where state = 'ready') as ready, count(*) filter (where state = 'claimed') as running,
       ${oldestReadySql} as oldest, count(*) filter (where obstacles is not null) as aside
     from work.lanes group by process`,
  );
  return {
    lanesReady: new Map(rows.map(({ process, ready }) => [process, ready])),
    oldestReadySeconds: new Map(rows.map(({ process, oldest }) => [process, oldest])),
    lanesRunning: new Map(rows.map(({ process, running }) => [process, running])),
    lanesSetAside: new Map(rows.map(({ process, aside }) => [process, aside])),
  };
}

async function counts(sql: Sql, text: string): Promise<Map<string, number>> {
  const { rows } = await sql.query<{ name: string; count: number }>(text);
  return new Map(rows.map(({ name, count }) => [name, count]));
}

type Drafts = Pick<QueueDepths, "draftsSending" | "draftsPending" | "oldestPendingSeconds">;

/** Reads the operator's figures over all workspaces. Each is read from an index or from counts, so the number of drafts does not matter. */
const draftsOf = (database: Database): Promise<Drafts> =>
  database.transaction(async (tx) => {
    await tx.query("select set_config('countersign.workspace', '*', true)");
    const { rows } = await tx.query<Drafts>(
      `select (select count(*) from drafts where status = 'sending') as "draftsSending",
         (select coalesce(sum(count), 0)::bigint from draft_counts where status = 'pending') as "draftsPending",
         (select greatest(0, extract(epoch from clock_timestamp() - min(pending_since))) from drafts where status = 'pending')::float
           as "oldestPendingSeconds"`,
    );
    return rows[0]!;
  });
