import type { WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import { targetFault } from "#src/platform/webhooks/targets.ts";
import { invalidRequest, Rejected } from "#streams/decider.ts";
import type { Webhook } from "#streams/webhook/decider.ts";
import type { WebhookSecret, WebhookSettings } from "#streams/webhook/events.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause } from "./handle.ts";
import { newId } from "./ids.ts";
import { type HolderState, takeSlot } from "./plans/slots.ts";

const maxWebhooks = 20;
const secretBytes = 32;
/** Milliseconds for which posts are signed with a replaced secret too. */
const bothValidMs = 24 * 3_600_000;

type WebhookRef = { workspaceId: string; webhookId: string };

/** A webhook and its secret in plain text, which is returned only once. */
export type WithSecret = { webhookId: string; secret: string; position: number };

/** Creates a webhook. Throws Rejected invalid_request (a URL that must not be called, too many webhooks), not_found (identity). */
export async function createWebhook(
  deps: Dependencies,
  { workspaceId, ...settings }: WebhookSettings & { workspaceId: string },
  cause: Cause,
): Promise<WithSecret> {
  await requireSound(deps, workspaceId, settings);
  const webhookId = newId(deps, cause, "webhook");
  await takeWebhookSlot(deps, { workspaceId, webhookId }, cause);
  const secret = newSecret(deps, { workspaceId, webhookId }, cause);
  const command = { type: "CreateWebhook", webhook: { workspaceId, ...settings, secret } } as const;
  const { state, position } = await deps.webhooks.handle(webhookId, command, cause);
  return { webhookId, secret: open(deps, { workspaceId, webhookId }, state.secret), position };
}

/** Changes the given settings and keeps the rest. */
export async function updateWebhook(
  deps: Dependencies,
  { workspaceId, webhookId, changes }: WebhookRef & { changes: Partial<WebhookSettings> },
  cause: Cause,
): Promise<{ position: number }> {
  await requireSound(deps, workspaceId, changes);
  return deps.webhooks.handle(webhookId, { type: "UpdateWebhook", changes }, cause);
}

/** Creates a new secret. For 24 h posts are signed with the previous secret too. */
export async function rotateWebhookSecret(
  deps: Dependencies,
  named: WebhookRef,
  cause: Cause,
): Promise<WithSecret & { previousUntil: string }> {
  const previousUntil = new Date(deps.clock.now().getTime() + bothValidMs).toISOString();
  const secret = newSecret(deps, named, cause);
  const command = { type: "RotateSecret", secret, previousUntil } as const;
  const { state, position } = await deps.webhooks.handle(named.webhookId, command, cause);
  const made = [state.secret, ...state.previous.map((each) => each.secret)].find(({ id }) => id === secret.id);
  return {
    webhookId: named.webhookId,
    secret: open(deps, named, made ?? state.secret),
    previousUntil: state.previous[0]?.until ?? previousUntil,
    position,
  };
}

export const deleteWebhook = (deps: Dependencies, { webhookId }: WebhookRef, cause: Cause) =>
  deps.webhooks.handle(webhookId, { type: "DeleteWebhook" }, cause);

/** Disables a webhook; the service itself is the cause, not a user. */
export const disableWebhook = (
  deps: Dependencies,
  { webhookId, because }: { webhookId: string; because: string },
  cause: Cause,
) => deps.webhooks.handle(webhookId, { type: "DisableWebhook", because }, cause);

/** Sends an event of type `webhook.test` before all waiting deliveries. Returns the delivery's id. */
export async function testWebhook(
  deps: Dependencies & { webhookDeliveries: WebhookDeliveries },
  { workspaceId, webhookId }: WebhookRef,
  cause: Cause,
): Promise<string> {
  await requireActive(deps, webhookId);
  const id = newId(deps, cause, "webhookTest");
  const created_at = deps.clock.now().toISOString();
  const payload = { id, type: "webhook.test", created_at, workspace_id: workspaceId, sequence: 0, data: {} };
  await deps.webhookDeliveries.add([
    {
      id,
      webhook_id: webhookId,
      workspace_id: workspaceId,
      event_id: id,
      event_type: payload.type,
      subject: id,
      position: 0,
      part: 0,
      body: JSON.stringify({ ...payload, data: { webhook_id: webhookId } }),
    },
  ]);
  return id;
}

/** Throws Rejected invalid_status if the webhook is not active, because then nothing is delivered. */
export async function requireActive(deps: Dependencies, webhookId: string): Promise<void> {
  const { state } = await deps.webhooks.load(webhookId);
  if (state.settings.status === "active") return;
  throw new Rejected("invalid_status", "this webhook is disabled: set its status to active first");
}

/** Returns the secrets with which a post at this moment is signed, in plain text, the newest first. */
export const signingSecrets = (
  deps: Dependencies,
  { webhookId, webhook }: { webhookId: string; webhook: Webhook },
  at: Date,
): string[] => {
  const valid = webhook.previous.filter(({ until }) => Date.parse(until) > at.getTime());
  return [webhook.secret, ...valid.map(({ secret }) => secret)].map((secret) =>
    open(deps, { workspaceId: webhook.workspaceId, webhookId }, secret),
  );
};

/** Returns the workspace and field for which a webhook's secrets are encrypted. */
export const secretOwner = ({ workspaceId, webhookId }: WebhookRef) => ({
  workspaceId,
  field: `webhook.${webhookId}.secret`,
});

function newSecret(deps: Dependencies, named: WebhookRef, cause: Cause): WebhookSecret {
  const plain = `whsec_${deps.ids.random(secretBytes).toString("base64")}`;
  return { id: newId(deps, cause, "webhookSecret"), sealed: deps.keyRing.seal(plain, secretOwner(named)) };
}

const open = (deps: Dependencies, named: WebhookRef, { sealed }: WebhookSecret): string =>
  deps.keyRing.open(sealed, secretOwner(named));

async function requireSound(
  deps: Dependencies,
  workspaceId: string,
  { url, identityIds }: Partial<WebhookSettings>,
): Promise<void> {
  const fault = url === undefined ? undefined : targetFault(url, deps.settings.webhookAllowedHosts ?? []);
  if (fault) throw invalidRequest("url", fault);
  for (const [index, identityId] of (identityIds ?? []).entries()) {
    const { state } = await deps.identities.load(identityId);
    if (state.exists && !state.deleted && state.workspaceId === workspaceId) continue;
    throw new Rejected("not_found", `identity_ids[${index}]: no such identity`, { field: "identity_ids" });
  }
}

async function takeWebhookSlot(
  deps: Dependencies,
  { workspaceId, webhookId }: WebhookRef,
  cause: Cause,
): Promise<void> {
  const stateOf = async (holderId: string): Promise<HolderState> => {
    const { state } = await deps.webhooks.load(holderId);
    if (!state.exists) return "unborn";
    return state.deleted ? "gone" : "alive";
  };
  try {
    const slot = { workspaceId, kind: "webhooks", holderId: webhookId } as const;
    await takeSlot(deps, { ...slot, cap: maxWebhooks, stateOf }, cause);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "plan_limit_reached") throw error;
    throw new Rejected(
      "invalid_request",
      `this workspace already has ${maxWebhooks} webhooks, which is the limit: delete one first`,
    );
  }
}
