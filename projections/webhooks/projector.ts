import { idOf, type Recorded } from "#streams/event.ts";
import type { WebhookEvent, WebhookSettings } from "#streams/webhook/events.ts";
import type { Projection } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";

const columnOf: Record<keyof WebhookSettings, string> = {
  url: "url",
  events: "events",
  identityIds: "identity_ids",
  description: "description",
  status: "status",
};

const columns = [
  "id",
  "workspace_id",
  ...Object.values(columnOf),
  "disabled_reason",
  "created_position",
  "created_at",
  "updated_at",
  "deleted_at",
];

type Row = { id: string } & Record<string, unknown>;

const toColumns = (settings: Partial<WebhookSettings>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(settings)
      .filter(([name]) => name in columnOf)
      .map(([name, value]) => [columnOf[name as keyof WebhookSettings], value]),
  );

function apply(row: Row, event: WebhookEvent, { position, metadata: { at } }: Recorded): Row {
  switch (event.type) {
    case "WebhookCreated":
      return {
        ...row,
        workspace_id: event.data.workspaceId,
        ...toColumns(event.data),
        created_position: position,
        created_at: at,
      };
    case "WebhookUpdated": {
      const { changes } = event.data;
      return { ...row, ...toColumns(changes), ...(changes.status ? { disabled_reason: null } : {}) };
    }
    case "WebhookDisabled":
      return { ...row, status: "disabled", disabled_reason: event.data.because };
    case "WebhookDeleted":
      return { ...row, deleted_at: at };
    case "WebhookSecretRotated":
    case "WebhookSecretsResealed":
      return row;
  }
}

export const webhooks: Projection = {
  name: "webhooks",
  version: 1,
  tables: ["webhooks"],
  handles: ["WebhookCreated", "WebhookUpdated", "WebhookSecretRotated", "WebhookDisabled", "WebhookDeleted"],
  async project(tx, events) {
    const rows = await rowsById<Row>(
      tx,
      "webhooks",
      columns,
      events.map((event) => idOf(event.stream)),
    );
    for (const event of events) {
      const id = idOf(event.stream);
      const row = apply(rows.get(id) ?? { id }, event as unknown as WebhookEvent, event);
      rows.set(id, { ...row, updated_at: event.metadata.at });
    }
    await upsertRows(tx, "webhooks", ["id"], columns, [...rows.values()]);
  },
};
