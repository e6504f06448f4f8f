import { isMessage } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { isIdentityWithinPlan } from "../identities/identities.ts";
import { countInbound } from "../plans/quotas.ts";

/** Returns why an identity's mail is held now; null if it is filed. Mail of a deleted identity is still filed. */
export async function whyMailIsHeld(deps: Dependencies, identityId: string): Promise<string | null> {
  const { state: identity } = await deps.identities.load(identityId);
  if (identity.status === "disabled") return "the identity is disabled";
  if (identity.deleted || (await isIdentityWithinPlan(deps, { identityId, identity }))) return null;
  return "the plan allows fewer identities";
}

/**
 * Marks the decisions of a page whose mails must be held: all of them if the identity does not receive mail, otherwise those beyond the
 * plan's inbound quota. Takes the quota for the others. A repeated delivery is neither stored nor counted.
 */
export async function markHeld(
  deps: Dependencies,
  {
    workspaceId,
    identityId,
    decisions,
  }: { workspaceId: string; identityId: string; decisions: readonly FilingDecision[] },
  cause: Cause,
): Promise<FilingDecision[]> {
  const because = await whyMailIsHeld(deps, identityId);
  const stored = decisions.filter(isMessage);
  const ids = because === null ? stored.map(({ deliveryId }) => deliveryId) : [];
  const counted = await countInbound(deps, { workspaceId, deliveryIds: ids }, cause);
  return decisions.map((decision) => {
    if (!isMessage(decision) || counted.has(decision.deliveryId)) return decision;
    if (because !== null) return { ...decision, disposition: "held_identity_disabled", reason: because };
    return { ...decision, disposition: "held_over_quota", reason: "the plan's quota of inbound mail is used up" };
  });
}
