import { conditions, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { evaluationCounts } from "./counts.ts";

/** One evaluation of one rule, with the outcomes of its actions. */
export type EvaluationRow = {
  id: string;
  rule_id: string;
  rule_version: number;
  trigger_event: string;
  trigger_event_id: string;
  identity_id: string;
  thread_id: string;
  message_id: string | null;
  draft_id: string | null;
  matched: boolean;
  actions: { type: string; outcome: string; reason: string | null }[];
  evaluated_at: Date;
};

export type EvaluationFilter = Window & { matched?: boolean };

/** Lists a rule's evaluations, newest first. */
export async function listEvaluations(
  reads: Reads,
  workspaceId: string,
  { ruleId, ...filter }: EvaluationFilter & { ruleId: string },
) {
  const { where, values } = conditions(workspaceId, [
    ["rule_id = {n}", ruleId],
    // A separate condition, so that the planner uses the index of evaluations that matched.
    [filter.matched ? "matched and {n}" : "matched = {n}", filter.matched],
  ]);
  type Walk = Pick<EvaluationRow, "id" | "rule_id" | "rule_version" | "matched" | "actions" | "evaluated_at">;
  const walks = await readPage<Walk>(reads.of(workspaceId), {
    select: "run_id as id, rule_id, rule_version, matched, actions, evaluated_at",
    from: "rule_evaluations",
    where,
    values,
    counts: { table: evaluationCounts.table, where, values },
    order: { columns: ["evaluated_at", "run_id"], direction: "desc" },
    window: filter,
  });
  const runs = await runsById(
    reads,
    workspaceId,
    walks.data.map(({ id }) => id),
  );
  return { ...walks, data: walks.data.map((walk): EvaluationRow => ({ ...(runs.get(walk.id) as Run), ...walk })) };
}

type Run = Pick<
  EvaluationRow,
  "id" | "trigger_event" | "trigger_event_id" | "identity_id" | "thread_id" | "message_id" | "draft_id"
>;

async function runsById(reads: Reads, workspaceId: string, ids: readonly string[]): Promise<Map<string, Run>> {
  const { rows } = await reads.of(workspaceId).query<Run>(
    `select id, trigger_event, trigger_event_id, identity_id, thread_id, message_id, draft_id from rule_runs
     where workspace_id = $1 and id = any($2)`,
    [workspaceId, ids],
  );
  return new Map(rows.map((run) => [run.id, run]));
}

/** Returns the rules that matched on a subject (a draft, or else a message) within one chain of causes, in other runs than this one. */
export async function rulesRunBefore(
  reads: Reads,
  workspaceId: string,
  { correlationId, subjectId, runId }: { correlationId: string; subjectId: string; runId: string },
): Promise<{ rule_id: string; run_id: string }[]> {
  const { rows } = await reads.of(workspaceId).query<{ rule_id: string; run_id: string }>(
    `select e.rule_id, e.run_id from rule_runs r join rule_evaluations e on e.run_id = r.id
     where r.workspace_id = $1 and r.correlation_id = $2 and coalesce(r.draft_id, r.message_id) = $3 and r.id <> $4
       and e.matched`,
    [workspaceId, correlationId, subjectId, runId],
  );
  return rows;
}
