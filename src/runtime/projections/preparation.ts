import type { EventStore } from "#src/eventStore/eventStore.ts";
import type { BackgroundDatabase } from "#src/platform/postgres/database.ts";
import { loadReadModels } from "./checkpoints.ts";
import { type GroupMember, memberNames } from "./groupMember.ts";
import { completeProjections, ensureTables, serviceRoleOf, type TablesSql } from "./projectionTables.ts";
import { type RebuildOptions, rebuild } from "./rebuild.ts";
import { asError, type Backoff, pause, pauseAfterFailures, type RunnerLog } from "./retrying.ts";

type PreparationOptions = {
  store: EventStore;
  database: BackgroundDatabase;
  logger: RunnerLog;
  tablesSql: TablesSql;
  backoff: Backoff;
  signal: AbortSignal;
  /** Called each time some read models have been put in place; repeated until it succeeds. */
  onFilled(): Promise<void>;
};

/** Makes the tables of read models, and fills those that are new or of another version. Until the signal, failures are retried. */
export type Preparation = {
  /** Makes sure that all tables exist. Returns the read models that have to be rebuilt. */
  makeTables(): Promise<GroupMember[]>;
  /** Rebuilds read models together. The tables of an older version stay as they are until then. */
  rebuildAll(unfilled: readonly GroupMember[]): Promise<void>;
  /** Repeats work until it succeeds; the member's status shows the error until then. */
  insist(member: GroupMember, work: () => Promise<void>): Promise<void>;
};

/** Milliseconds between two looks for read models that are in place while others are still being filled. */
const lookEveryMs = 1_000;

export function createPreparation(members: readonly GroupMember[], options: PreparationOptions): Preparation {
  const { store, database, logger: log, tablesSql, backoff, signal, onFilled } = options;

  const rebuildOptions: RebuildOptions = {
    ...{ store, database, tablesSql, signal },
    onWaiting: (details) => log.warn(details, "read models that are being filled have to wait"),
    onFailed: (name, error) => fail(members.find(({ projection }) => projection.name === name)!, error),
  };

  async function makeTables(): Promise<GroupMember[]> {
    const unfilled: GroupMember[] = [];
    const projections = members.map(({ projection }) => projection);
    const sound = await completeProjections(database, projections).catch(() => new Set<string>());
    for (const member of members) {
      const { projection } = member;
      const prepare = async (): Promise<void> => {
        const [ddl, serviceRole] = [await tablesSql(projection), await serviceRoleOf(database)];
        if ((await ensureTables(database, { projection, ddl, serviceRole })) === "sound") member.state = "standingBy";
        else unfilled.push(member);
      };
      if (sound.has(projection.name)) member.state = "standingBy";
      else await insist(member, prepare);
    }
    return unfilled;
  }

  async function rebuildAll(unfilled: readonly GroupMember[]): Promise<void> {
    let left = unfilled;
    for (let failures = 1; left.length > 0 && !signal.aborted; failures++) {
      const names = memberNames(left);
      log.info({ projections: names }, "filling read models from the log");
      const over = new AbortController();
      const following = followPlaced(left, over.signal);
      const wanted = left.map(({ projection }) => projection);
      const ended = await rebuild(rebuildOptions, wanted, { atStart: true }).catch(asError);
      over.abort();
      await following;
      if (signal.aborted) return;
      const isPlaced = ({ projection }: GroupMember): boolean => ended instanceof Map && !ended.has(projection.name);
      await follow(left.filter(isPlaced));
      left = left.filter((member) => !isPlaced(member) && member.state === "preparing");
      if (ended instanceof Error) for (const member of left) fail(member, ended);
      if (left.length > 0) await pause(pauseAfterFailures(left[0]!.error, failures, backoff), signal);
    }
  }

  /** Follows read models as soon as they are in place, while others are still being filled, here or by another instance. */
  async function followPlaced(unfilled: readonly GroupMember[], over: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([over, signal]);
    while (!ended.aborted) {
      await pause(lookEveryMs, ended);
      if (signal.aborted) return;
      const stored = await loadReadModels(database, memberNames(unfilled)).catch(() => undefined);
      const isPlaced = ({ projection: { name, version } }: GroupMember): boolean =>
        stored?.get(name)?.version === version;
      await follow(unfilled.filter(isPlaced));
    }
  }

  async function follow(filled: readonly GroupMember[]): Promise<void> {
    const entering = filled.filter(({ state }) => state === "preparing");
    if (entering.length === 0) return;
    for (const member of entering) {
      delete member.error;
      member.state = "standingBy";
    }
    await insist(entering[0]!, onFilled);
  }

  function fail(member: GroupMember, error: Error): void {
    member.error = error;
    log.error({ err: error, projection: member.projection.name }, "cannot prepare a read model, retrying");
  }

  async function insist(member: GroupMember, work: () => Promise<void>): Promise<void> {
    for (let failures = 1; !signal.aborted; failures++) {
      try {
        await work();
        delete member.error;
        return;
      } catch (error) {
        if (signal.aborted) return;
        fail(member, asError(error));
        await pause(pauseAfterFailures(error, failures, backoff), signal);
      }
    }
  }

  return { makeTables, rebuildAll, insist };
}
