import type { ApiKeyEvent } from "#streams/apiKey/events.ts";
import { idOf } from "#streams/event.ts";
import type { Projection } from "../projection.ts";
import { upsertRows } from "../rows.ts";

const columns = ["id", "workspace_id", "name", "prefix", "hash", "scopes", "created_at"] as const;

export const apiKeys: Projection<ApiKeyEvent> = {
  name: "apiKeys",
  version: 1,
  tables: ["api_keys"],
  handles: ["ApiKeyCreated", "ApiKeyRevoked"],
  async project(tx, events) {
    const created: Record<string, unknown>[] = [];
    const revoked: { id: string; at: string }[] = [];
    for (const event of events) {
      const id = idOf(event.stream);
      if (event.type === "ApiKeyRevoked") revoked.push({ id, at: event.metadata.at });
      else {
        const { workspaceId, ...facts } = event.data;
        created.push({ id, workspace_id: workspaceId, ...facts, created_at: event.metadata.at });
      }
    }
    upsertRows(tx, { table: "api_keys", columns }, created);
    if (revoked.length === 0) return;
    tx.write(
      `update api_keys set revoked_at = revoked.at
       from json_to_recordset($1::json) as revoked (id uuid, at timestamptz) where api_keys.id = revoked.id`,
      [JSON.stringify(revoked)],
    );
  },
};
