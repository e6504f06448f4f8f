import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { Clock } from "#src/platform/clock.ts";
import type { BackgroundDatabase } from "#src/platform/postgres/database.ts";
import type { Process } from "#src/processes/process.ts";
import { keepLeases, type LeaseKeeper } from "#src/runtime/projections/leaseKeeper.ts";
import { asError, type Backoff, backoffMs, pause, type RunnerLog } from "#src/runtime/projections/retrying.ts";
import type { Projected } from "./handlerContext.ts";
import { expireAllClaims } from "./lanes.ts";
import { runPlanner } from "./planner.ts";
import { plannerLease } from "./plannerLease.ts";
import { readPositions } from "./processPositions.ts";
import { createWorker } from "./worker.ts";

export type ProcessRunnerOptions = {
  store: EventStore;
  database: BackgroundDatabase;
  /** Clock by which timers are due. */
  clock: Clock;
  logger: RunnerLog;
  /** Unique id of this running instance. */
  instanceId: string;
  processes: readonly Process[];
  projected: Projected;
  /** Lanes of one process at work at once in this instance (default 32). */
  concurrency?: number;
  backoff?: Backoff;
  /** True if no other instance can be alive: claims of a killed one are then freed at once. */
  alone?: boolean;
};

export type ProcessRunner = {
  start(): void;
  /** Aborts handlers, waits for them (10 s at most) and releases the work to other instances. */
  stop(): Promise<void>;
  /** Called when lanes may be ready: claims at once instead of at the next poll. */
  wake(): void;
  /** Resolves once all events up to the end of the log are handled and nothing is due. For tests. */
  idle(): Promise<void>;
};

/** Milliseconds after which another instance takes over planning from one that is silent. */
const plannerLeaseMs = 3_000;

const graceMs = 10_000;

/** Plans the log while this instance holds the planner's lease, and works on planned lanes together with all other instances. */
export function createProcessRunner(options: ProcessRunnerOptions): ProcessRunner {
  const { store, database, clock, logger: log, instanceId, processes, projected } = options;
  const { concurrency = 32, backoff = backoffMs } = options;
  const stopping = new AbortController();
  const worker = createWorker({
    ...{ store, database, clock, log, holder: instanceId, processes, projected, concurrency, backoff },
  });
  let keeper: LeaseKeeper | undefined;

  /** Position up to which this instance has planned the log. Not updated while another instance plans. */
  let reached = 0;
  const onReached = (position: number): void => {
    reached = position;
  };
  const planner = { store, database, clock, log, holder: instanceId, processes, backoff, worker, onReached };

  async function isIdle(): Promise<boolean> {
    const head = await store.head();
    const stood = await readPositions(database, processes);
    if (reached < head && processes.some(({ name }) => (stood.get(name) ?? -1) < head)) return false;
    const names = processes.map(({ name }) => name);
    const { rows } = await database.query<{ busy: boolean }>(
      `select exists (select from work.lanes where process = any($1) and (state <> 'waiting' or due_at <= $2 or retry_at is not null))
         or exists (select from work.parked where process = any($1) and retry_requested_at is not null)
         or exists (select from work.tags where wake_before is not null) as busy`,
      [names, clock.now()],
    );
    return !rows[0]!.busy && (await store.head()) === head;
  }

  async function begin(): Promise<void> {
    if (options.alone)
      await releaseAll(database).catch((error) =>
        log.warn(
          { reason: asError(error).message },
          "cannot free what a killed instance had claimed; it runs out on its own",
        ),
      );
    if (stopping.signal.aborted) return;
    worker.start();
    keeper = keepLeases({
      ...{ database, clock, log, holder: instanceId, names: [plannerLease], lastsMs: plannerLeaseMs },
      work: (held) => runPlanner(planner, held),
    });
  }
  let beginning: Promise<void> | undefined;

  return {
    start() {
      beginning ??= begin();
    },
    async stop() {
      stopping.abort();
      await beginning;
      await Promise.all([keeper?.stop(), worker.stop(graceMs)]);
    },
    wake: worker.wake,
    async idle() {
      while (!stopping.signal.aborted && !(await isIdle())) await pause(10, stopping.signal);
    },
  };
}

async function releaseAll(database: BackgroundDatabase): Promise<void> {
  await database.query("update work.leases set expires_at = '-infinity' where name = $1", [plannerLease]);
  await expireAllClaims(database);
}
