import { projections } from "#projections/index.ts";
import { isHandled, type Projection } from "#projections/projection.ts";
import type { Reads } from "#projections/reads.ts";
import { readWholeLog } from "#src/eventStore/eventStore.ts";
import { httpDependencies } from "#src/http/dependencies.ts";
import { allRoutes } from "#src/http/routes.ts";
import type { Sql } from "#src/platform/postgres/database.ts";
import { type Decider, fold, Rejected } from "#streams/decider.ts";
import type { Event, Recorded } from "#streams/event.ts";
import { quotaDecider } from "#streams/quota/decider.ts";
import { type Workspace, workspaceDecider } from "#streams/workspace/decider.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { makeTables, project } from "#test/support/projecting.ts";

/** A call of a route about a time, such as "GET /v1/threads/:id". */
export type PastQuestion = { line: string; params: Record<string, string>; at: Date };

/** Read models from which the routes with `at` answer. */
const replayed = ["workspaces", "identities", "rules", "domains", "members", "chains", "threads", "messages", "drafts"];
const models = projections.filter(({ name }) => replayed.includes(name)) as Projection[];
/** Events projected at once. */
const batchSize = 500;

/**
 * Answers questions about the past by replaying the log: it fills the read models with all events up to a time, then asks the routes as if
 * that time were now. Questions must be asked in the order of their times. `sql`: a transaction of its own, whose tables no one else sees.
 */
export async function openReplay(service: InProcess, sql: Sql, workspaceId: string) {
  const log = await readLog(service);
  const ends = endsInTime(log);
  let projected: Recorded[] = [];
  await sql.query("set local search_path = pg_temp");
  for (const model of models) await makeTables(model, sql);

  /** Projects what happened until then. What another stream recorded late, by its clock, comes in its place in the log. */
  async function replayUntil(at: Date): Promise<void> {
    const due = log.filter((event) => (ends.get(event) as number) <= at.getTime());
    const isNext = projected.every((event, index) => event === due[index]);
    if (!isNext) for (const { tables } of models) await sql.query(`truncate ${tables.join(", ")}`);
    const rest = isNext ? due.slice(projected.length) : due;
    for (let from = 0; from < rest.length; from += batchSize) {
      const batch = rest.slice(from, from + batchSize);
      for (const model of models) {
        const handled = batch.filter(({ type }) => isHandled(model, type));
        if (handled.length > 0) await project(model, sql, handled);
      }
    }
    projected = due;
  }

  const foldOf = <State, E extends Event>(decider: Decider<State, never, E>, stream: string): State =>
    fold(decider, projected.filter((event) => event.stream === stream) as unknown as E[]);

  function routesAt(at: Date) {
    const reads: Reads = { of: () => sql, ofNone: sql, ofAll: sql, snapshot: (_, ask) => ask(reads) };
    const deps = {
      ...service.deps,
      reads,
      clock: { ...service.deps.clock, now: () => at },
      workspaces: { load: async (id: string) => ({ state: existing(foldOf(workspaceDecider, workspaceStream(id))) }) },
      quotas: { load: async (stream: string) => ({ state: foldOf(quotaDecider, stream) }) },
    };
    const none = {} as never;
    const parts = { database: none, revocation: none, webhookDeliveries: none, closing: AbortSignal.abort() };
    return allRoutes(httpDependencies(deps as never, parts));
  }

  return {
    events: log,
    /** Returns the answer as JSON; undefined for 404. */
    async ask({ line, params, at }: PastQuestion): Promise<unknown> {
      await replayUntil(at);
      const route = routesAt(at).find((each) => each.line === line);
      if (!route) throw new Error(`there is no route ${line}`);
      const query = { limit: 100, offset: 0 };
      const call = { workspaceId, params, query, principal: { scopes: [] } };
      try {
        const loaded = await route.options.load?.(call as never);
        if (route.options.load && !loaded) return undefined;
        const answer = await route.handler({ ...call, loaded });
        return answer && JSON.parse(JSON.stringify(answer));
      } catch (error) {
        if (error instanceof Rejected && error.code === "not_found") return undefined;
        throw error;
      }
    },
  };
}

/** Throws Rejected not_found for a workspace that does not exist yet: no present caller can be of one. */
function existing(workspace: Workspace): Workspace {
  if (!workspace.exists) throw new Rejected("not_found", "no such workspace");
  return workspace;
}

async function readLog({ store }: InProcess): Promise<Recorded[]> {
  const log: Recorded[] = [];
  for await (const { events } of readWholeLog(store)) log.push(...events);
  return log;
}

/** Returns the time from which each event counts: that of the latest event so far in its stream. */
function endsInTime(log: readonly Recorded[]): Map<Recorded, number> {
  const latest = new Map<string, number>();
  const times = new Map<Recorded, number>();
  for (const event of log) {
    const at = Math.max(latest.get(event.stream) ?? 0, Date.parse(event.metadata.at));
    latest.set(event.stream, at);
    times.set(event, at);
  }
  return times;
}
