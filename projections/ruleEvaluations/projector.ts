import { idOf, type Recorded } from "#streams/event.ts";
import type { RuleRunEvent } from "#streams/ruleRun/events.ts";
import { updateCounts } from "../counts.ts";
import type { Projection, Tx } from "../projection.ts";
import { upsertRows } from "../rows.ts";
import { evaluationCounts } from "./counts.ts";
import { prune } from "./prune.ts";

type RunEvent<Type extends RuleRunEvent["type"]> = Extract<RuleRunEvent, { type: Type }>;

/** Outcome of one action: `pending` until it was carried out. */
export type ShownAction = {
  type: string;
  outcome: "pending" | "done" | "suppressed" | "refused" | "failed";
  reason: string | null;
};

type Row = { run_id: string; rule_id: string; actions: ShownAction[] } & Record<string, unknown>;

const runColumns = [
  "id",
  "workspace_id",
  "trigger_event",
  "trigger_event_id",
  "identity_id",
  "thread_id",
  "message_id",
  "draft_id",
  "correlation_id",
  "evaluated_at",
];
const columns = ["run_id", "rule_id", "workspace_id", "rule_version", "matched", "actions", "evaluated_at"];

const keyOf = (runId: string, ruleId: string): string => `${runId}/${ruleId}`;

function runOf(event: Recorded & RunEvent<"RulesEvaluated">): Record<string, unknown> {
  const { workspaceId, triggerEvent, triggerEventId, subject } = event.data;
  return {
    id: idOf(event.stream),
    workspace_id: workspaceId,
    trigger_event: triggerEvent,
    trigger_event_id: triggerEventId,
    identity_id: subject.identityId,
    thread_id: subject.threadId,
    message_id: subject.messageId,
    draft_id: subject.draftId,
    correlation_id: event.metadata.correlationId,
    evaluated_at: event.metadata.at,
  };
}

const evaluationsOf = (event: Recorded & RunEvent<"RulesEvaluated">): Row[] =>
  event.data.results.map((result) => ({
    run_id: idOf(event.stream),
    rule_id: result.ruleId,
    workspace_id: event.data.workspaceId,
    rule_version: result.version,
    matched: result.matched,
    actions: result.actions.map(({ action, suppressed }) => ({
      type: action.type,
      outcome: suppressed === null ? "pending" : "suppressed",
      reason: suppressed,
    })),
    evaluated_at: event.metadata.at,
  }));

type ActionChange = { runId: string; ruleId: string; index: number } & Pick<ShownAction, "outcome" | "reason">;

/** Returns the change of one action by an event; null if there is none. */
function changeOf(event: Recorded & RuleRunEvent): ActionChange | null {
  const runId = idOf(event.stream);
  if (event.type === "RuleActionTaken") return { runId, ...event.data };
  if (event.type !== "ApprovalModeUsed" || event.data.suppressed === undefined) return null;
  return { runId, ...event.data.suppressed, outcome: "suppressed" };
}

function withOutcome(row: Row, { index, outcome, reason }: ActionChange): Row {
  const actions = row.actions.map((action, place) => (place === index ? { ...action, outcome, reason } : action));
  return { ...row, actions };
}

async function rowsBefore(tx: Tx, events: readonly Recorded[]): Promise<Map<string, Row>> {
  const touched = events.flatMap((event) => changeOf(event as Recorded & RuleRunEvent) ?? []);
  if (touched.length === 0) return new Map();
  const { rows } = await tx.query<Row>(
    `select ${columns.join(", ")} from rule_evaluations
     where (run_id, rule_id) in (select * from unnest($1::uuid[], $2::uuid[]))`,
    [touched.map(({ runId }) => runId), touched.map(({ ruleId }) => ruleId)],
  );
  return new Map(rows.map((row) => [keyOf(row.run_id, row.rule_id), row]));
}

export const ruleEvaluations: Projection = {
  name: "ruleEvaluations",
  version: 5,
  independent: true,
  tables: ["rule_runs", "rule_evaluations", "rule_evaluation_counts"],
  handles: ["RulesEvaluated", "RuleActionTaken", "ApprovalModeUsed"],
  prune,
  async project(tx, events) {
    const rows = await rowsBefore(tx, events);
    const before = [...rows.values()];
    const runs = new Map<string, Record<string, unknown>>();
    for (const event of events) {
      const change = event as Recorded & RuleRunEvent;
      if (change.type === "RulesEvaluated") {
        runs.set(idOf(event.stream), runOf(change));
        for (const row of evaluationsOf(change)) rows.set(keyOf(row.run_id, row.rule_id), row);
      }
      const changed = changeOf(change);
      if (changed === null) continue;
      const key = keyOf(changed.runId, changed.ruleId);
      const row = rows.get(key);
      if (row) rows.set(key, withOutcome(row, changed));
    }
    upsertRows(tx, { table: "rule_runs", columns: runColumns }, [...runs.values()]);
    upsertRows(tx, { table: "rule_evaluations", key: ["run_id", "rule_id"], columns }, [...rows.values()]);
    updateCounts(tx, evaluationCounts, { before, after: [...rows.values()] });
  },
};
