import { type ListeningWebhook, listeningWebhooks } from "#projections/webhooks/queries.ts";
import { readCheckpoint } from "#src/audit/checkpoint.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import type { Witness } from "#src/platform/audit/witnesses.ts";
import { type NewDelivery, skipError, type WebhookDeliveries } from "#src/platform/webhooks/deliveries.ts";
import { derivedId } from "../ids.ts";
import { cosignHead, type WitnessHandlers } from "./cosignHead.ts";
import type { HeadDependencies } from "./signHead.ts";

export type AnnounceDependencies = HeadDependencies & {
  deliveries: Pick<WebhookDeliveries, "add">;
  witnesses: readonly Witness[];
};

/** Milliseconds between two announcements of heads of one tree, at least. */
const hourMs = 3_600_000;

/**
 * Announces each tree's newest head, at most once an hour for each tree: asks the witnesses to cosign it, then queues a delivery for each
 * webhook that subscribes to heads. A head counts as announced only after its deliveries are stored, so a crash repeats the announcement,
 * with the same ids.
 */
export async function announceHeads(
  deps: AnnounceDependencies,
  {
    onError,
    onRefusal,
    stopping,
  }: Pick<WitnessHandlers, "onRefusal"> & {
    onError: (error: unknown, treeId: string) => void;
    stopping: AbortSignal;
  },
): Promise<void> {
  const { auditHeads, clock, witnesses } = deps;
  const away = new Set<Witness>();
  for (const head of await auditHeads.unannounced(new Date(clock.now().getTime() - hourMs))) {
    if (stopping.aborted) break;
    try {
      // A webhook that was created before the head's last entry receives it. If their read model is behind, the next call announces.
      if (!(await deps.projected(head.position, { of: ["webhooks"] }))) return;
      await queue(deps, await cosignHead(deps, head, { witnesses, away, onRefusal }));
      await auditHeads.announce(head, clock.now());
    } catch (error) {
      onError(error, head.treeId);
    }
  }
}

async function queue({ reads, deliveries }: AnnounceDependencies, head: SignedHead): Promise<void> {
  const webhooks = await listeningWebhooks(reads, head.treeId);
  // A head belongs to no identity, so a webhook that names identities receives none.
  const wanting = webhooks.filter(
    ({ events, identity_ids, created_position }) =>
      events.includes(kind) && identity_ids === null && created_position <= head.position,
  );
  if (wanting.length > 0) await deliveries.add(wanting.map((webhook) => deliveryOf(webhook, head)));
}

const kind = "audit.checkpoint";

function deliveryOf(
  { id: webhookId, disabled_reason }: ListeningWebhook,
  { treeId, epoch, size, root, checkpoint, signedAt, position }: SignedHead,
): NewDelivery {
  const id = derivedId("auditHead", treeId, `${epoch}`, `${size}`, root.toString("hex"));
  const data = { origin: readCheckpoint(checkpoint)?.origin, epoch, size, root: root.toString("base64"), checkpoint };
  return {
    id: derivedId("webhookDelivery", webhookId, id),
    webhook_id: webhookId,
    workspace_id: treeId,
    event_id: id,
    event_type: kind,
    subject: treeId,
    position,
    part: 0,
    // The feed has no such event, so it has no number there.
    body: JSON.stringify({
      id,
      type: kind,
      created_at: signedAt.toISOString(),
      workspace_id: treeId,
      sequence: 0,
      data,
    }),
    ...(disabled_reason !== null && { error: skipError(disabled_reason) }),
  };
}
