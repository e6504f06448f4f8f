import { projections } from "#projections/index.ts";
import type { ReadModel } from "#projections/names.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { pruneOutbox } from "#src/mail/out/outbox.ts";
import type { Clock } from "#src/platform/clock.ts";
import type { DatabaseRole } from "#src/platform/postgres/database.ts";
import { type PrunableProjection, pruneBatch } from "#src/runtime/projections/prune.ts";
import { pause, type RunnerLog } from "#src/runtime/projections/retrying.ts";

/** Days after which old rows are removed. Events are never removed. */
export type RowRetention = { evaluations: number | "never"; outbox: number | "never" };

export type RetentionDependencies = Pick<Dependencies, "store" | "projected"> & {
  clock: Pick<Clock, "now">;
  database: DatabaseRole;
};

/** Removes old rows repeatedly. Several instances may do so at once: each batch locks what it removes. */
export type RetentionClock = { close(): Promise<void> };

const dayMs = 86_400_000;

/** Starts the clock, with a round at once. A failure is logged and tried again. */
export function startRetention(
  deps: RetentionDependencies,
  retention: RowRetention,
  { log, everyMs = 600_000 }: { log: Pick<RunnerLog, "warn">; everyMs?: number },
): RetentionClock {
  const stopping = new AbortController();
  const { signal } = stopping;

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await removeOldRows(deps, retention, signal).catch((error) =>
        log.warn({ err: error }, "cannot remove old rows, trying again later"),
      );
      await pause(everyMs, signal);
    }
  }

  const running = run();
  return {
    async close() {
      stopping.abort();
      await running;
    },
  };
}

/** Removes everything that is older than its retention, in short transactions, until it is gone or `signal` is aborted. */
export async function removeOldRows(
  deps: RetentionDependencies,
  { evaluations, outbox }: RowRetention,
  signal: AbortSignal,
): Promise<void> {
  const { database, clock } = deps;
  const before = (days: number): Date => new Date(clock.now().getTime() - days * dayMs);
  if (outbox !== "never") while (!signal.aborted && (await pruneOutbox(database, before(outbox))));
  if (evaluations === "never") return;
  const projection = projections.find(({ name }) => name === "ruleEvaluations") as PrunableProjection;
  // A read model that is still being filled would get further old rows.
  const of = [projection.name as ReadModel];
  if (!(await deps.projected(await deps.store.head(), { of, signal, timeoutMs: 60_000 }))) return;
  while (!signal.aborted && (await pruneBatch(database, projection, { until: before(evaluations) })));
}
