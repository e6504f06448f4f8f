import type { AssistantEvent } from "#streams/assistant/events.ts";
import { idOf } from "#streams/event.ts";
import type { Projection } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";

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

export const assistants: Projection = {
  name: "assistants",
  version: 1,
  tables: ["assistants"],
  handles: ["AssistantCreated", "AssistantUpdated", "AssistantDeleted"],
  async project(tx, events) {
    const ids = events.map((event) => idOf(event.stream));
    const rows = await rowsById<Row>(tx, "assistants", columns, ids);
    for (const event of events) {
      const id = idOf(event.stream);
      const { at } = event.metadata;
      rows.set(id, { ...apply(rows.get(id) ?? { id }, event as unknown as AssistantEvent, at), updated_at: at });
    }
    await upsertRows(tx, "assistants", ["id"], columns, [...rows.values()]);
  },
};
