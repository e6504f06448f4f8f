import type { AssistantEvent } from "#streams/assistant/events.ts";
import type { Projection } from "../projection.ts";
import { foldRows } from "../rows.ts";

const columns = ["id", "workspace_id", "name", "description", "status", "created_at", "updated_at", "deleted_at"];

type Row = { id: string } & Record<string, unknown>;

function apply(row: Row, event: AssistantEvent, at: string): Row {
  switch (event.type) {
    case "AssistantCreated": {
      const { workspaceId, ...settings } = event.data;
      return { ...row, ...settings, workspace_id: workspaceId, created_at: at, deleted_at: null };
    }
    case "AssistantUpdated":
      return { ...row, ...event.data.changes };
    case "AssistantDeleted":
      return { ...row, deleted_at: at };
  }
}

export const assistants: Projection<AssistantEvent> = {
  name: "assistants",
  version: 1,
  tables: ["assistants"],
  handles: ["AssistantCreated", "AssistantUpdated", "AssistantDeleted"],
  project: foldRows<Row, AssistantEvent>({
    table: "assistants",
    columns,
    evolve(row, event) {
      const { at } = event.metadata;
      return { ...apply(row, event, at), updated_at: at };
    },
  }),
};
