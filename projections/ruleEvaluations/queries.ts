import { conditions, page } from "../page.ts";
import type { Reads } from "../reads.ts";

/** One walk of one rule, and what became of its actions (decisions 9). */
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

export type EvaluationFilter = { matched?: boolean; limit: number; offset: number };

/** Newest first. */
export function listEvaluations(reads: Reads, workspaceId: string, ruleId: string, filter: EvaluationFilter) {
  const { where, values } = conditions(workspaceId, [
    ["rule_id = {n}", ruleId],
    ["matched = {n}", filter.matched],
  ]);
  return page<EvaluationRow>(reads.of(workspaceId), {
    select: `run_id as id, rule_id, rule_version, trigger_event, trigger_event_id, identity_id, thread_id, message_id,
      draft_id, matched, actions, evaluated_at`,
    from: "rule_evaluations",
    where,
    values,
    orderBy: "evaluated_at desc, run_id",
    limit: filter.limit,
    offset: filter.offset,
  });
}

/** Rules that matched on a subject (a draft, or else a message) within one chain of causes, in other runs than this one. */
export async function ranBefore(
  reads: Reads,
  workspaceId: string,
  { correlationId, subjectId, runId }: { correlationId: string; subjectId: string; runId: string },
): Promise<{ rule_id: string; run_id: string }[]> {
  const { rows } = await reads.of(workspaceId).query<{ rule_id: string; run_id: string }>(
    `select rule_id, run_id from rule_evaluations
     where workspace_id = $1 and correlation_id = $2 and coalesce(draft_id, message_id) = $3 and run_id <> $4 and matched`,
    [workspaceId, correlationId, subjectId, runId],
  );
  return rows;
}
