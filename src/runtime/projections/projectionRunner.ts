import { createHash } from "node:crypto";
import type { Projection } from "#projections/projection.ts";
import type { EventStore } from "#src/eventStore/eventStore.ts";
import { type Clock, systemClock } from "#src/platform/clock.ts";
import type { BackgroundDatabase } from "#src/platform/postgres/database.ts";
import { loadReadModels, lowestCheckpoint } from "./checkpoints.ts";
import { createGroupLoops, type GroupLoops } from "./groupLoops.ts";
import { type GroupMember, type MemberState, memberNames } from "./groupMember.ts";
import { type HeldLease, keepLeases, type LeaseKeeper } from "./leaseKeeper.ts";
import { expireLease } from "./leases.ts";
import {
  completeProjections,
  ensureTables,
  serviceRoleOf,
  type TablesSql,
  type TablesState,
  tablesFile,
} from "./projectionTables.ts";
import { rebuild } from "./rebuild.ts";
import { asError, type Backoff, backoffMs, pause, pauseAfterFailures, type RunnerLog } from "./retrying.ts";
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

/** Milliseconds between two looks for read models that have been filled while others still are. */
const followEveryMs = 1_000;

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

  async function prepareAll(): Promise<void> {
    const unfilled: GroupMember[] = [];
    const sound = await completeProjections(database, projections).catch(() => new Set<string>());
    for (const member of members) {
      if (sound.has(member.projection.name)) {
        member.state = "standingBy";
        continue;
      }
      await insist(member, async () => {
        if ((await prepare(member)) === "toBeRebuilt") unfilled.push(member);
      });
    }
    if (stopping.signal.aborted) return;
    if (options.alone) await insist(members[0]!, () => expireLease(database, leaseName(projections)));
    keeper = keepLeases({ database, clock, log, holder: instanceId, names: [leaseName(projections)], work: write });
    rebuilding = rebuildAll(unfilled);
  }

  /**
   * Rebuilds read models together, and those that failed again, after a pause. The tables of an older version stay as they are until then.
   */
  async function rebuildAll(unfilled: readonly GroupMember[]): Promise<void> {
    const options = { store, database, tablesSql, signal: stopping.signal };
    let left = unfilled;
    for (let failures = 1; left.length > 0 && !stopping.signal.aborted; failures++) {
      const names = memberNames(left);
      log.info({ projections: names }, "filling read models from the log");
      const wanted = left.map(({ projection }) => projection);
      const over = new AbortController();
      const following = followFilled(left, over.signal);
      const failed = await rebuild(options, wanted, { atStart: true }).catch(
        (error: unknown) => new Map(names.map((name) => [name, asError(error)])),
      );
      over.abort();
      await following;
      if (stopping.signal.aborted) return;
      await follow(left.filter(({ projection }) => !failed.has(projection.name)));
      left = left.filter(({ projection }) => failed.has(projection.name));
      for (const member of left) fail(member, failed.get(member.projection.name)!);
      if (left.length > 0) await pause(pauseAfterFailures(left[0]!.error, failures, backoff), stopping.signal);
    }
  }

  /** Follows read models as soon as they are in place, while others are still being filled, here or by another instance. */
  async function followFilled(unfilled: readonly GroupMember[], over: AbortSignal): Promise<void> {
    for (;;) {
      await pause(followEveryMs, AbortSignal.any([over, stopping.signal]));
      if (over.aborted || stopping.signal.aborted) return;
      const stored = await loadReadModels(database, memberNames(unfilled)).catch(() => undefined);
      await follow(
        unfilled.filter(
          ({ projection: { name, version }, state }) => state === "preparing" && stored?.get(name)?.version === version,
        ),
      );
    }
  }

  async function follow(filled: readonly GroupMember[]): Promise<void> {
    if (filled.length === 0) return;
    for (const member of filled) {
      delete member.error;
      if (member.state === "preparing") member.state = "standingBy";
    }
    await insist(filled[0]!, async () => loops?.open());
    // The loop of the main group does not know yet which read models have entered it.
    loops?.reload();
  }

  async function prepare(member: GroupMember): Promise<TablesState> {
    const { projection } = member;
    const [ddl, serviceRole] = [await tablesSql(projection), await serviceRoleOf(database)];
    const found = await ensureTables(database, { projection, ddl, serviceRole });
    if (found === "sound") member.state = "standingBy";
    return found;
  }

  function fail(member: GroupMember, error: Error): void {
    member.error = error;
    log.error({ err: error, projection: member.projection.name }, "cannot prepare a read model, retrying");
  }

  /** Retries until success or until this instance stops. */
  async function insist(member: GroupMember, work: () => Promise<void>): Promise<void> {
    for (let failures = 1; !stopping.signal.aborted; failures++) {
      if (await attempt(member, work)) return;
      await pause(pauseAfterFailures(member.error, failures, backoff), stopping.signal);
    }
  }

  /** True if it succeeded; otherwise the member's status shows the error until it does. */
  async function attempt(member: GroupMember, work: () => Promise<void>): Promise<boolean> {
    if (stopping.signal.aborted) return false;
    try {
      await work();
      delete member.error;
      return true;
    } catch (error) {
      if (stopping.signal.aborted) return false;
      fail(member, asError(error));
      return false;
    }
  }

  async function write({ signal }: HeldLease): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await beginWriting(signal);
        break;
      } catch (error) {
        log.warn({ err: error }, "cannot read checkpoints, retrying");
        await pause(pauseAfterFailures(error, failures, backoff), signal);
      }
    }
    await aborted(signal);
    await loops?.ended();
    loops = undefined;
    onMoved();
    for (const member of members) if (member.state !== "preparing") member.state = "standingBy";
  }

  async function beginWriting(signal: AbortSignal): Promise<void> {
    const lease = leaseName(projections);
    loops = createGroupLoops(members, {
      ...{ store, database, log, batchSize, backoff, signal, lease, onMoved, pauseUnlessAwaited },
    });
    await loops.open();
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
