import type { WebhookStatus } from "#streams/webhook/events.ts";
import { newestFirst, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

export type WebhookRow = {
  id: string;
  workspace_id: string;
  url: string;
  events: string[];
  identity_ids: string[] | null;
  description: string | null;
  status: WebhookStatus;
  disabled_reason: string | null;
  created_at: Date;
  updated_at: Date;
};

const columns = `id, workspace_id, url, events, identity_ids, description, status, disabled_reason, created_at, updated_at`;

export const webhookById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<WebhookRow>(reads, workspaceId, { id, select: columns, from: "webhooks", where: "deleted_at is null" });

/** Lists webhooks, newest first. */
export const listWebhooks = (reads: Reads, workspaceId: string, window: Window) =>
  readPage<WebhookRow>(reads.of(workspaceId), {
    select: columns,
    from: "webhooks",
    where: ["workspace_id = $1", "deleted_at is null"],
    values: [workspaceId],
    order: newestFirst,
    window,
  });

/** A webhook with its events, and the position of its creation. */
export type ListeningWebhook = {
  id: string;
  events: string[];
  identity_ids: string[] | null;
  /** Log position at which the webhook was created. Earlier events are not delivered. */
  created_position: number;
  /** Why the service disabled it; null if it is active. */
  disabled_reason: string | null;
};

/** Returns a workspace's webhooks, active ones and those that the service disabled; a webhook that a caller disabled is left out. */
export async function listeningWebhooks(reads: Reads, workspaceId: string): Promise<ListeningWebhook[]> {
  const { rows } = await reads.of(workspaceId).query<ListeningWebhook>(
    `select id, events, identity_ids, created_position, disabled_reason from webhooks
     where workspace_id = $1 and deleted_at is null and (status = 'active' or disabled_reason is not null) order by created_at desc, id`,
    [workspaceId],
  );
  return rows;
}
