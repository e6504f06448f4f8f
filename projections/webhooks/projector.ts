import type { Recorded } from "#streams/event.ts";
import type { WebhookEvent, WebhookSettings } from "#streams/webhook/events.ts";
import type { Projection } from "../projection.ts";
import { foldRows, toColumns } from "../rows.ts";

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

function apply(row: Row, event: Recorded<WebhookEvent>): Row {
  const { at } = event.metadata;
  switch (event.type) {
    case "WebhookCreated":
      return {
        ...row,
        workspace_id: event.data.workspaceId,
        ...toColumns(columnOf, event.data),
        created_position: event.position,
        created_at: at,
      };
    case "WebhookUpdated": {
      const { changes } = event.data;
      return { ...row, ...toColumns(columnOf, changes), ...(changes.status ? { disabled_reason: null } : {}) };
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

export const webhooks: Projection<WebhookEvent> = {
  name: "webhooks",
  version: 1,
  independent: true,
  tables: ["webhooks"],
  handles: ["WebhookCreated", "WebhookUpdated", "WebhookSecretRotated", "WebhookDisabled", "WebhookDeleted"],
  project: foldRows<Row, WebhookEvent>({
    table: "webhooks",
    columns,
    evolve: (row, event) => ({ ...apply(row, event), updated_at: event.metadata.at }),
  }),
};
