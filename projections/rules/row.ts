import type { Recorded } from "#streams/event.ts";
import type { RuleEvent, RuleSettings } from "#streams/rule/events.ts";
import { toColumns } from "../rows.ts";

const columnOf: Record<keyof RuleSettings | "workspaceId" | "version", string> = {
  workspaceId: "workspace_id",
  version: "version",
  name: "name",
  triggerEvent: "trigger_event",
  conditions: "conditions",
  actions: "actions",
  status: "status",
  priority: "priority",
  stopAfterMatch: "stop_after_match",
  identityId: "identity_id",
  assistantId: "assistant_id",
};

export const ruleColumns = ["id", ...Object.values(columnOf), "created_at", "updated_at", "deleted_at"];

export type StoredRule = { id: string } & Record<string, unknown>;

function apply(row: StoredRule, event: RuleEvent, at: string): StoredRule {
  switch (event.type) {
    case "RuleCreated":
      return { ...row, ...toColumns(columnOf, event.data), created_at: at, deleted_at: null };
    case "RuleUpdated":
      return { ...row, ...toColumns(columnOf, event.data.changes), version: event.data.version };
    case "RuleSecretsResealed":
      return { ...row, ...toColumns(columnOf, event.data) };
    case "RuleDeleted":
      return { ...row, deleted_at: at };
  }
}

/** Returns the row of a rule after one of its events. */
export function evolveRule(before: StoredRule, event: Recorded<RuleEvent>): StoredRule {
  const { at } = event.metadata;
  const row = apply(before, event, at);
  return event.type === "RuleSecretsResealed" ? row : { ...row, updated_at: at };
}
