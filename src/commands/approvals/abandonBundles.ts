import { type WaitingRequest, waitingRequests } from "#projections/drafts/queries.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { answeredBy } from "#streams/draft/notification.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import type { ChannelSlot } from "./askApprovers.ts";
import { maxDraftsPerMail } from "./sendBundle.ts";

/**
 * Requests that askInBundles gave up: all requests waiting for a mailbox (`address` in lower case), or one draft's request at one channel.
 */
export type AbandonedRequests = { workspaceId: string; address: string } | { draftId: string; slot: ChannelSlot };

const error =
  "internal: the approvers could not be notified, and the operator has the error: notify them again with POST /v1/drafts/{id}/notify";

/**
 * Records on each draft that its approvers were not reached, after the service gave up its tries. notification_status then shows the
 * failure, and the draft escalates to the secondary channel or its thread is marked for review. Requests that were answered meanwhile are
 * not changed.
 */
export async function abandonRequests(deps: Dependencies, what: AbandonedRequests, cause: Cause): Promise<void> {
  if ("draftId" in what) return giveUp(deps, what, cause);
  const { workspaceId, address } = what;
  let after: WaitingRequest | undefined;
  do {
    const rows = await waitingRequests(deps.reads, workspaceId, { address, after, most: maxDraftsPerMail });
    for (const { draft_id: draftId, slot } of rows) await giveUp(deps, { draftId, slot }, cause);
    after = rows.length === maxDraftsPerMail ? rows.at(-1) : undefined;
  } while (after !== undefined);
}

async function giveUp(
  deps: Dependencies,
  { draftId, slot }: { draftId: string; slot: ChannelSlot },
  cause: Cause,
): Promise<void> {
  const { state: draft } = await deps.drafts.load(draftId);
  const asked = draft.status === "pending" ? newestUnanswered(draft, slot) : undefined;
  if (asked === undefined) return;
  const { notificationId } = asked;
  const failed = { type: "RecordNotificationFailed", notificationId, error, final: true } as const;
  await deps.drafts.handle(draftId, failed, { ...cause, workspaceId: draft.workspaceId });
}

/** Returns the newest unanswered request from the draft's stream, because the read models may not have it yet. */
const newestUnanswered = ({ notified, version }: Draft, slot: ChannelSlot): ApprovalRequest | undefined =>
  Object.values(notified.open)
    .filter((asked) => asked.version === version && asked.channel.slot === slot)
    .filter(({ causedBy }) => !notified.answered.includes(answeredBy(causedBy, slot)))
    .at(-1);
