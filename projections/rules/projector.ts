import type { RuleEvent, RuleSettings } from "#streams/rule/events.ts";
import type { Projection } from "../projection.ts";
import { foldRows, toColumns } from "../rows.ts";

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

const columns = ["id", ...Object.values(columnOf), "created_at", "updated_at", "deleted_at"];

type Row = { id: string } & Record<string, unknown>;

function apply(row: Row, event: RuleEvent, at: string): Row {
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

export const rules: Projection<RuleEvent> = {
  name: "rules",
  version: 1,
  tables: ["rules"],
  handles: ["RuleCreated", "RuleUpdated", "RuleSecretsResealed", "RuleDeleted"],
  project: foldRows<Row, RuleEvent>({
    table: "rules",
    columns,
    evolve(before, event) {
      const { at } = event.metadata;
      const row = apply(before, event, at);
      return event.type === "RuleSecretsResealed" ? row : { ...row, updated_at: at };
    },
  }),
};
