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
  /** Called each time some tables have been exchanged; repeated until it succeeds. */
  onExchanged(): Promise<void>;
};

/** Makes the tables of read models, and fills those that are new or of another version. Failures are retried until the signal aborts. */
export type Preparation = {
  /** Makes sure that all tables exist. Returns the read models that have to be rebuilt. */
  makeTables(): Promise<GroupMember[]>;
  /** Rebuilds read models together. The tables of an older version stay as they are until then. */
  rebuildAll(unfilled: readonly GroupMember[]): Promise<void>;
  /** Repeats work until it succeeds; the member's status shows the error until then. */
  insist(member: GroupMember, work: () => Promise<void>): Promise<void>;
};

/** Milliseconds between two checks for exchanged tables while other read models are still being filled. */
const checkEveryMs = 1_000;

export function createPreparation(members: readonly GroupMember[], options: PreparationOptions): Preparation {
  const { store, database, logger: log, tablesSql, backoff, signal, onExchanged } = options;

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
      const releasing = releaseExchanged(left, over.signal);
      const wanted = left.map(({ projection }) => projection);
      const ended = await rebuild(rebuildOptions, wanted, { atStart: true }).catch(asError);
      over.abort();
      await releasing;
      if (signal.aborted) return;
      const isExchanged = ({ projection }: GroupMember): boolean => ended instanceof Map && !ended.has(projection.name);
      await release(left.filter(isExchanged));
      left = left.filter((member) => !isExchanged(member) && member.state === "preparing");
      if (ended instanceof Error) for (const member of left) fail(member, ended);
      if (left.length > 0) await pause(pauseAfterFailures(left[0]!.error, failures, backoff), signal);
    }
  }

  /** Releases read models as soon as their tables are exchanged, while others are still being filled, here or by another instance. */
  async function releaseExchanged(unfilled: readonly GroupMember[], over: AbortSignal): Promise<void> {
    const ended = AbortSignal.any([over, signal]);
    while (!ended.aborted) {
      await pause(checkEveryMs, ended);
      if (signal.aborted) return;
      const stored = await loadReadModels(database, memberNames(unfilled)).catch(() => undefined);
      const isExchanged = ({ projection: { name, version } }: GroupMember): boolean =>
        stored?.get(name)?.version === version;
      await release(unfilled.filter(isExchanged));
    }
  }

  /** Lets the loops write read models whose tables were exchanged. */
  async function release(exchanged: readonly GroupMember[]): Promise<void> {
    const entering = exchanged.filter(({ state }) => state === "preparing");
    if (entering.length === 0) return;
    for (const member of entering) {
      delete member.error;
      member.state = "standingBy";
    }
    await insist(entering[0]!, onExchanged);
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
