import { idOf } from "#streams/event.ts";
import type { RuleEvent, RuleSettings } from "#streams/rule/events.ts";
import type { Projection } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";

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

const toColumns = (facts: object): Record<string, unknown> =>
  Object.fromEntries(Object.entries(facts).map(([name, value]) => [columnOf[name as keyof typeof columnOf], value]));

function apply(row: Row, event: RuleEvent, at: string): Row {
  switch (event.type) {
    case "RuleCreated":
      return { ...row, ...toColumns(event.data), created_at: at, deleted_at: null };
    case "RuleUpdated":
      return { ...row, ...toColumns(event.data.changes), version: event.data.version };
    case "RuleSecretsResealed":
      return { ...row, ...toColumns(event.data) };
    case "RuleDeleted":
      return { ...row, deleted_at: at };
  }
}

export const rules: Projection = {
  name: "rules",
  version: 1,
  tables: ["rules"],
  handles: ["RuleCreated", "RuleUpdated", "RuleSecretsResealed", "RuleDeleted"],
  async project(tx, events) {
    const ids = events.map((event) => idOf(event.stream));
    const rows = await rowsById<Row>(tx, "rules", columns, ids);
    for (const event of events) {
      const id = idOf(event.stream);
      const { at } = event.metadata;
      const row = apply(rows.get(id) ?? { id }, event as unknown as RuleEvent, at);
      rows.set(id, event.type === "RuleSecretsResealed" ? row : { ...row, updated_at: at });
    }
    await upsertRows(tx, "rules", ["id"], columns, [...rows.values()]);
  },
};
