import { createHash } from "node:crypto";
import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { type Clock, systemClock } from "#src/platform/clock.ts";
import type { BackgroundDatabase } from "#src/platform/postgres/database.ts";
import { lowestCheckpoint } from "./checkpoints.ts";
import { createGroupLoops, type GroupLoops } from "./groupLoops.ts";
import type { GroupMember, MemberState } from "./groupMember.ts";
import { type HeldLease, keepLeases, type LeaseKeeper } from "./leaseKeeper.ts";
import { expireLease } from "./leases.ts";
import { createPreparation } from "./preparation.ts";
import { type TablesSql, tablesFile } from "./projectionTables.ts";
import { type Backoff, backoffMs, pause, pauseAfterFailures, type RunnerLog } from "./retrying.ts";
import type { WaitFor } from "./waitFor.ts";

export type ProjectionRunnerOptions = {
  store: EventStore;
  database: BackgroundDatabase;
  logger: RunnerLog;
  /** Unique id of this running instance. */
  instanceId: string;
  projections: readonly Projection[];
  clock?: Clock;
  /** Events per batch (default 1,000). */
  batchSize?: number;
  backoff?: Backoff;
  tablesSql?: TablesSql;
  /**
   * Called after each commit with the positions of the read models that this instance writes, by name; with an empty map once it writes
   * none.
   */
  onProjected?: (reached: ReadonlyMap<string, number>) => void;
  /** Called by a loop that had caught up, before it continues (default: no pause). */
  pauseUnlessAwaited?: WaitFor["pauseUnlessAwaited"];
  /** True if no other instance uses this database: the work of a killed instance is then taken over immediately. */
  alone?: boolean;
};

export type ProjectionStatus = { name: string; version: number; position: number; state: MemberState; error?: string };

export type ProjectionRunner = {
  /** Resolves when all tables exist, filled or not; those of another version are rebuilt in the background. */
  start(): Promise<void>;
  /** Finishes the current batch and releases the work to other instances. */
  stop(): Promise<void>;
  /** Resolves once all projections, whichever instance writes them, have reached the end of the log at the time of the call. */
  caughtUp(): Promise<void>;
  /** Returns the reason why the read models cannot be relied on, as far as this instance knows. */
  trouble(): string | undefined;
  /** Returns the names of the read models that cannot be written or rebuilt, as far as this instance knows. */
  failing(): string[];
  status(): ProjectionStatus[];
};

/** Writes the read models. One instance at a time writes; the others stand by. */
export function createProjectionRunner(options: ProjectionRunnerOptions): ProjectionRunner {
  const { store, database, logger: log, instanceId, projections, clock = systemClock, batchSize = 1000 } = options;
  const { backoff = backoffMs, pauseUnlessAwaited = async () => {} } = options;
  const tablesSql = options.tablesSql ?? tablesFile;
  const members: GroupMember[] = projections.map((projection) => ({ projection, position: 0, state: "preparing" }));
  const stopping = new AbortController();
  let loops: GroupLoops | undefined;
  let keeper: LeaseKeeper | undefined;
  let preparing: Promise<void> | undefined;
  let rebuilding: Promise<void> | undefined;

  const onMoved = (): void => {
    const written = loops?.written() ?? [];
    options.onProjected?.(new Map(written.map(({ projection, position }) => [projection.name, position])));
  };

  // A crashed server may have lost the last commits of read models, and no further event may arrive that would reveal it.
  const unwatch = database.onLost(() => {
    loops?.reload();
    onMoved();
  });

  const preparation = createPreparation(members, {
    ...{ store, database, logger: log, tablesSql, backoff, signal: stopping.signal },
    async onExchanged() {
      await loops?.open();
      // The loop of the main group does not know yet which read models have entered it.
      loops?.reload();
    },
  });

  async function prepareAll(): Promise<void> {
    const unfilled = await preparation.makeTables();
    if (stopping.signal.aborted) return;
    const lease = leaseName(projections);
    if (options.alone) await preparation.insist(members[0]!, () => expireLease(database, lease));
    keeper = keepLeases({ database, clock, log, holder: instanceId, names: [lease], work: write });
    rebuilding = preparation.rebuildAll(unfilled);
  }

  async function write({ signal }: HeldLease): Promise<void> {
    const lease = leaseName(projections);
    loops = createGroupLoops(members, {
      ...{ store, database, log, batchSize, backoff, signal, lease, onMoved, pauseUnlessAwaited },
    });
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await loops.open();
        break;
      } catch (error) {
        log.warn({ err: error }, "cannot read checkpoints, retrying");
        await pause(pauseAfterFailures(error, failures, backoff), signal);
      }
    }
    await aborted(signal);
    await loops.ended();
    loops = undefined;
    onMoved();
    for (const member of members) if (member.state !== "preparing") member.state = "standingBy";
  }

  return {
    start() {
      preparing ??= prepareAll();
      return preparing;
    },
    async stop() {
      stopping.abort();
      unwatch();
      await preparing;
      await Promise.all([rebuilding, keeper?.stop()]);
    },
    async caughtUp() {
      const head = await store.head();
      while (!stopping.signal.aborted && (await lowestCheckpoint(database, projections)) < head) {
        await pause(10, stopping.signal);
      }
    },
    trouble() {
      const bad = members.find(({ state, error }) => error || (state !== "following" && state !== "standingBy"));
      if (!bad) return undefined;
      return `${bad.projection.name} is ${bad.state}${bad.error ? `: ${bad.error.message}` : ""}`;
    },
    failing: () => members.filter(({ error }) => error).map(({ projection }) => projection.name),
    status: () =>
      members.map(({ projection: { name, version }, position, state, error }) => ({
        name,
        version,
        position,
        state,
        ...(error && { error: error.message }),
      })),
  };
}

/**
 * Returns the lease's name, which differs between versions, so that they do not wait for each other: the checkpoint's generation decides
 * which instance may write.
 */
const leaseName = (projections: readonly Projection[]): string => {
  const versions = projections.map(({ name, version }) => `${name}@${version}`).sort();
  return `projections:${createHash("sha256").update(versions.join()).digest("hex").slice(0, 16)}`;
};

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
