import { listWebhooks, webhookById } from "#projections/webhooks/queries.ts";
import {
  createWebhook,
  deleteWebhook,
  requireActive,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
} from "#src/commands/webhooks.ts";
import { maxRetried } from "#src/platform/webhooks/deliveries.ts";
import { invalidRequest, Rejected } from "#streams/decider.ts";
import type { WebhookSettings } from "#streams/webhook/events.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { settingsReader } from "./framework/settingsReader.ts";
import { Deleted } from "./schemas/common.ts";
import {
  CreateWebhook,
  DeliveriesRetried,
  RetryDeliveries,
  UpdateWebhook,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookDeliveryQuery,
  WebhookList,
  WebhookQuery,
  WebhookRotated,
  WebhookWithSecret,
} from "./schemas/webhooks.ts";

type WebhookRequest = { workspaceId: string; params: { webhook_id: string } };

export function webhookRoutes(deps: HttpDependencies) {
  const find = ({ workspaceId, params }: WebhookRequest) => webhookById(deps.reads, workspaceId, params.webhook_id);

  async function findDelivery(named: WebhookRequest & { params: { delivery_id: string } }) {
    if (!(await find(named))) return undefined;
    return deps.webhookDeliveries.find(named.workspaceId, named.params.webhook_id, named.params.delivery_id);
  }

  async function shownAfter(position: number, workspaceId: string, id: string) {
    await deps.readAfter(position, id);
    const webhook = await webhookById(deps.reads, workspaceId, id);
    // Another caller deleted the webhook in between.
    if (!webhook) throw new Rejected("not_found", "no such resource");
    return webhook;
  }

  return [
    route(
      "POST /v1/webhooks",
      {
        scope: "write:webhooks",
        limit: "write",
        summary: "Create a webhook",
        description:
          "Events are posted to its URL as they happen, at least once, in order for each draft, thread or domain, and signed according to Standard Webhooks. The secret is shown only in this response. A workspace may have at most 20 webhooks.",
        body: CreateWebhook,
        answers: WebhookWithSecret,
        secretAnswer: true,
        errors: ["not_found"],
      },
      async ({ workspaceId, body, cause }) => {
        const settings = { ...unset, ...settingsOf(body), workspaceId } as WebhookSettings & {
          workspaceId: string;
        };
        const { webhookId, secret, position } = await createWebhook(deps, settings, cause);
        return { ...(await shownAfter(position, workspaceId, webhookId)), secret };
      },
    ),

    listRoute(
      "GET /v1/webhooks",
      {
        scope: "read:webhooks",
        limit: "read",
        summary: "List webhooks, newest first",
        query: WebhookQuery,
        answers: WebhookList,
        cursors: deps.cursors,
      },
      ({ workspaceId, query }) => listWebhooks(deps.reads, workspaceId, query),
    ),

    route(
      "GET /v1/webhooks/:webhook_id",
      { scope: "read:webhooks", limit: "read", summary: "Read a webhook", answers: Webhook, load: find },
      async ({ loaded }) => loaded,
    ),

    route(
      "PATCH /v1/webhooks/:webhook_id",
      {
        scope: "write:webhooks",
        limit: "write",
        summary: "Change a webhook",
        description:
          "Only the given fields change. Disabling a webhook cancels its pending deliveries, and no event of that time is kept for it. If the service disabled it, the events of that time are among its deliveries as skipped: enable it and send them again.",
        body: UpdateWebhook,
        answers: Webhook,
        load: find,
      },
      async ({ workspaceId, params, body, cause }) => {
        const webhookId = params.webhook_id;
        const { position } = await updateWebhook(deps, { workspaceId, webhookId, changes: settingsOf(body) }, cause);
        return shownAfter(position, workspaceId, webhookId);
      },
    ),

    route(
      "DELETE /v1/webhooks/:webhook_id",
      { scope: "write:webhooks", limit: "write", summary: "Delete a webhook", answers: Deleted, load: find },
      async ({ workspaceId, params, cause }) => {
        const webhookId = params.webhook_id;
        const { position } = await deleteWebhook(deps, { workspaceId, webhookId }, cause);
        await deps.readAfter(position, webhookId);
        return { id: webhookId, deleted: true };
      },
    ),

    route(
      "POST /v1/webhooks/:webhook_id/rotate-secret",
      {
        scope: "write:webhooks",
        limit: "write",
        summary: "Replace a webhook's secret",
        description:
          "For 24 hours, deliveries carry a signature of both secrets, so that the receiver can switch over.",
        answers: WebhookRotated,
        secretAnswer: true,
        load: find,
      },
      async ({ workspaceId, params, cause }) => {
        const named = { workspaceId, webhookId: params.webhook_id };
        const { secret, previousUntil, position } = await rotateWebhookSecret(deps, named, cause);
        const webhook = await shownAfter(position, workspaceId, named.webhookId);
        return { ...webhook, secret, previous_secret_until: previousUntil };
      },
    ),

    route(
      "POST /v1/webhooks/:webhook_id/test",
      {
        scope: "write:webhooks",
        limit: "write",
        summary: "Send a test event",
        description:
          "Sends an event of kind webhook.test, ahead of waiting deliveries. Its delivery shows the outcome.",
        answers: WebhookDelivery,
        errors: ["invalid_status"],
        load: find,
      },
      async ({ workspaceId, params, cause }) => {
        const webhookId = params.webhook_id;
        const id = await testWebhook(deps, { workspaceId, webhookId }, cause);
        return deps.webhookDeliveries.find(workspaceId, webhookId, id);
      },
    ),

    listRoute(
      "GET /v1/webhooks/:webhook_id/deliveries",
      {
        scope: "read:webhooks",
        limit: "read",
        summary: "List a webhook's deliveries, newest first",
        description:
          "Deliveries that ended more than 30 days ago are left out. The event feed keeps every event permanently.",
        query: WebhookDeliveryQuery,
        answers: WebhookDeliveryList,
        cursors: deps.cursors,
        load: find,
      },
      ({ workspaceId, params, query }) => deps.webhookDeliveries.list(workspaceId, params.webhook_id, query),
    ),

    route(
      "POST /v1/webhooks/:webhook_id/deliveries/:delivery_id/retry",
      {
        scope: "write:webhooks",
        limit: "write",
        summary: "Deliver again",
        description: "Delivers immediately, whatever its earlier outcome, with the same id.",
        answers: WebhookDelivery,
        errors: ["invalid_status"],
        load: findDelivery,
      },
      async ({ workspaceId, params }) => {
        const { webhook_id: webhookId, delivery_id: id } = params;
        await requireActive(deps, webhookId);
        await deps.webhookDeliveries.retry(workspaceId, webhookId, id);
        return deps.webhookDeliveries.find(workspaceId, webhookId, id);
      },
    ),

    route(
      "POST /v1/webhooks/:webhook_id/deliveries/retry",
      {
        scope: "write:webhooks",
        limit: "write",
        summary: "Deliver again what was not delivered in a span of time",
        description: `Delivers the failed, canceled and skipped deliveries that were created between from and to, with the same ids, in order for each draft, thread or domain. At most ${maxRetried.toLocaleString("en")} in one call, the oldest first. Tests are left out.`,
        body: RetryDeliveries,
        answers: DeliveriesRetried,
        errors: ["invalid_status"],
        load: find,
      },
      async ({ workspaceId, params, body }) => {
        const span = { from: new Date(body.from), to: body.to === undefined ? null : new Date(body.to) };
        if (span.to !== null && span.from > span.to)
          throw invalidRequest("from", "expected a time that is not after to");
        await requireActive(deps, params.webhook_id);
        const { retried, newest } = await deps.webhookDeliveries.retryAll(workspaceId, params.webhook_id, span);
        return { retried, next_from: retried === maxRetried ? newest : null };
      },
    ),
  ];
}

const unset = { identityIds: null, description: null };

const settingsOf = settingsReader<WebhookSettings>({
  url: "url",
  events: "events",
  identity_ids: "identityIds",
  description: "description",
  status: "status",
});
