import { eventsAt, type FeedRow, payloadOf, publishedTypes, subjectOf } from "#projections/feed/queries.ts";
import { type ListeningWebhook, listeningWebhooks } from "#projections/webhooks/queries.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { derivedId } from "#src/commands/ids.ts";
import { type NewDelivery, skipError, type WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import type { Recorded } from "#streams/event.ts";
import type { Process, ProcessContext, WaitForModels } from "./process.ts";

/**
 * Queues the published events for every webhook that subscribes to them, in log order per draft, thread or domain. For a webhook that the
 * service disabled they are stored as skipped.
 */
export function queueWebhooks(
  deps: Dependencies,
  { deliveries, onQueued }: { deliveries: WebhookDeliveries; onQueued: () => void },
): Process {
  async function queue(
    { position, metadata: { workspaceId } }: Recorded,
    { reached }: ProcessContext,
  ): Promise<WaitForModels | undefined> {
    if (workspaceId === null) return undefined;
    // The feed's read model numbers the published events, so it must have read the event first.
    if (!(await reached(position, ["feed", "webhooks"]))) return { waitFor: position, of: ["feed", "webhooks"] };
    const listeners = await listeningWebhooks(deps.reads, workspaceId);
    const events = listeners.length === 0 ? [] : await eventsAt(deps.reads, workspaceId, position);
    const news = events.flatMap((event) =>
      listeners.filter((listener) => wants(listener, event)).map((listener) => deliveryOf(listener, event)),
    );
    if (news.length === 0) return undefined;
    await deliveries.add(news);
    onQueued();
    return undefined;
  }

  return {
    name: "queueWebhooks",
    onlyNews: true,
    categories: ["draft", "thread", "delivery", "domain"],
    keyOf: subjectOf,
    concerns: (_, { webhooks }) => webhooks,
    on: Object.fromEntries(publishedTypes.map((type) => [type, queue])),
  };
}

const wants = ({ events, identity_ids, created_position }: ListeningWebhook, event: FeedRow): boolean =>
  event.position > created_position &&
  events.includes(event.type) &&
  (identity_ids === null || (event.identity_id !== null && identity_ids.includes(event.identity_id)));

const deliveryOf = (listener: ListeningWebhook, event: FeedRow): NewDelivery => ({
  id: derivedId("webhookDelivery", listener.id, event.id),
  webhook_id: listener.id,
  workspace_id: event.workspace_id,
  event_id: event.id,
  event_type: event.type,
  subject: event.subject,
  position: event.position,
  part: event.part,
  body: JSON.stringify(payloadOf(event)),
  ...(listener.disabled_reason !== null && { error: skipError(listener.disabled_reason) }),
});
