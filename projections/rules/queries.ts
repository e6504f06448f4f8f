import type { Group, RuleAction, TriggerEvent } from "#streams/rule/events.ts";
import { activeRowOfAssistant } from "../activeRows.ts";
import { conditions, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

/** Rule as in the API, the secrets of its actions still sealed: http masks them. */
export type RuleRow = {
  id: string;
  workspace_id: string;
  version: number;
  name: string;
  trigger_event: TriggerEvent;
  conditions: Group;
  actions: RuleAction[];
  status: "active" | "inactive";
  priority: number;
  stop_after_match: boolean;
  identity_id: string | null;
  assistant_id: string | null;
  created_at: Date;
  updated_at: Date;
};

const columns = `id, workspace_id, version, name, trigger_event, conditions, actions, status, priority, stop_after_match,
  identity_id, assistant_id, created_at, updated_at`;

export const ruleById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<RuleRow>(reads, workspaceId, { id, select: columns, from: "rules", where: "deleted_at is null" });

export type RuleFilter = Window & { trigger_event?: string; status?: string };

/** Lists rules in order of evaluation. */
export function listRules(reads: Reads, workspaceId: string, filter: RuleFilter) {
  const { where, values } = conditions(workspaceId, [
    ["trigger_event = {n}", filter.trigger_event],
    ["status = {n}", filter.status],
  ]);
  return readPage<RuleRow>(reads.of(workspaceId), {
    select: columns,
    from: "rules",
    where: [...where, "deleted_at is null"],
    values,
    order: { columns: ["priority", "id"], direction: "asc" },
    window: filter,
  });
}

/** Returns a rule that is limited to this assistant, if any. */
export const ruleOfAssistant = (reads: Reads, workspaceId: string, assistantId: string): Promise<string | undefined> =>
  activeRowOfAssistant(reads, workspaceId, { table: "rules", assistantId });

/** A past event that could have triggered a rule: about a draft, or about a message. */
export type PastTrigger = { draft_id: string | null; message_id: string | null; at: Date };

/** Returns the newest events of a trigger, as in the feed, since a time (null: all); newest first. */
export async function pastTriggers(
  reads: Reads,
  workspaceId: string,
  { trigger, since, limit }: { trigger: TriggerEvent; since: Date | null; limit: number },
): Promise<PastTrigger[]> {
  const { rows } = await reads.of(workspaceId).query<PastTrigger>(
    `select (data ->> 'draft_id')::uuid as draft_id, (data ->> 'message_id')::uuid as message_id, created_at as at
     from (select * from feed_events where workspace_id = $1 and type = $2
       order by position desc, part desc limit $4) newest
     where $3::timestamptz is null or created_at >= $3 order by position desc, part desc`,
    [workspaceId, trigger, since, limit],
  );
  return rows;
}

export async function countRules(reads: Reads, workspaceId: string): Promise<number> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ count: number }>(
      "select count(*)::int as count from rules where workspace_id = $1 and deleted_at is null",
      [workspaceId],
    );
  return rows[0]?.count ?? 0;
}
