import { Rejected } from "#streams/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { requiresHuman } from "../approvals/humanApproval.ts";
import type { Dependencies } from "../dependencies.ts";
import { ownDomainOf } from "../domains/domains.ts";
import type { Cause } from "../handle.ts";
import { identityWorks } from "../identities/identities.ts";

/**
 * What the tails of workspace and identity say about sending right now, and its domain's: in the name of a domain that is not proven to be
 * the workspace's any more nothing leaves, until it is verified again. Its mail is taken in all the same.
 */
export async function sendingState(
  deps: Dependencies,
  { workspaceId, identityId }: { workspaceId: string; identityId: string },
): Promise<
  "allowed" | "sending_paused" | "domain_not_verified" | "identity_disabled" | "identity_over_cap" | "identity_deleted"
> {
  const [workspace, identity, works] = await Promise.all([
    deps.workspaces.load(workspaceId),
    deps.identities.load(identityId),
    identityWorks(deps, workspaceId, identityId),
  ]);
  if (identity.state.deleted) return "identity_deleted";
  if (workspace.state.sendingPaused) return "sending_paused";
  if (identity.state.status !== "active") return "identity_disabled";
  if (!works) return "identity_over_cap";
  const domain = await ownDomainOf(deps, identity.state);
  return domain && domain.status !== "verified" ? "domain_not_verified" : "allowed";
}

/** Throws Rejected sending_paused or identity_not_active. */
export async function requireSendingAllowed(
  deps: Dependencies,
  draft: { workspaceId: string; identityId: string },
): Promise<void> {
  const state = await sendingState(deps, draft);
  if (state === "sending_paused") {
    throw new Rejected("sending_paused", "sending is paused for this workspace: set sending_paused to false to send");
  }
  if (state === "identity_over_cap") {
    const remedy = "upgrade the plan, or delete an older identity";
    throw new Rejected(
      "identity_not_active",
      `this identity cannot send, because your plan allows fewer identities: ${remedy}`,
    );
  }
  if (state === "domain_not_verified") {
    throw new Rejected(
      "identity_not_active",
      "this identity's domain is no longer verified: restore its DNS records, then call POST /v1/domains/{id}/verify",
    );
  }
  if (state === "identity_deleted") {
    throw new Rejected("identity_not_active", "this identity has been deleted and cannot send: use another one");
  }
  if (state === "identity_disabled") {
    throw new Rejected("identity_not_active", "this identity is disabled and cannot send: set its status to active");
  }
}

/** Throws Rejected human_approval_required if only a person may decide about this identity's drafts. */
export async function requireKeysMayDecide(deps: Dependencies, draft: { identityId: string }): Promise<void> {
  const { state: identity } = await deps.identities.load(draft.identityId);
  if (!(await requiresHuman(deps, identity))) return;
  throw new Rejected(
    "human_approval_required",
    "this identity requires human approval: a person has to decide through its approval channel",
  );
}

/**
 * The same for a draft about to be queued. What a key, a rule or a setting approved before its identity came to want a person's word goes
 * back to a person.
 */
export async function requirePersonsWord(
  deps: Dependencies,
  { draftId, draft }: { draftId: string; draft: Pick<Draft, "identityId" | "approval"> },
  cause: Cause,
): Promise<void> {
  if (draft.approval?.by === "person") return;
  try {
    await requireKeysMayDecide(deps, draft);
  } catch (error) {
    if (!(error instanceof Rejected)) throw error;
    const back = { type: "ReturnToPending", because: error.message } as const;
    await deps.drafts.handle(draftId, back, cause);
    throw error;
  }
}
