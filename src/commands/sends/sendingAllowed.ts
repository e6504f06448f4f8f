import type { Guard } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { domainStream } from "#streams/domain/events.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { identityStream } from "#streams/identity/events.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import { requiresHuman } from "../approvals/humanApproval.ts";
import type { Dependencies } from "../dependencies.ts";
import { ownDomainOf } from "../domains/domains.ts";
import { changeDraft } from "../drafts/changeDraft.ts";
import type { Cause } from "../handle.ts";
import { identityWorks } from "../identities/identities.ts";
import { installationNow } from "../installation.ts";
import { oneLook } from "../states/oneLook.ts";

export type SendingState =
  | "allowed"
  | "installation_paused"
  | "sending_paused"
  | "domain_not_verified"
  | "identity_disabled"
  | "identity_over_cap"
  | "identity_deleted";

type Sender = { workspaceId: string; identityId: string };

/**
 * Whether a sender may send. `guards`: the streams of installation, workspace and identity as they were judged, for what has to be refused once
 * they have moved. `obstacles`: the streams whose next event may end what prevents it, as they were at the latest when it was judged; none
 * if nothing does.
 */
export type Standing = { state: SendingState; guards: readonly Guard[]; obstacles: readonly Guard[] };

/**
 * What the tails of installation, workspace and identity say about sending right now, and its domain's: in the name of a domain that is not proven to be
 * the workspace's any more nothing leaves, until it is verified again. Its mail is taken in all the same. Revisions are read before the
 * judgement: what moved in between is noticed, not missed.
 */
export async function sendingStanding(deps: Dependencies, sender: Sender): Promise<Standing> {
  const { workspaceId, identityId } = sender;
  const look = oneLook(deps);
  const [installation, workspace, identity] = await senderNow(look, sender);
  const ofWorkspace = { stream: workspaceStream(workspaceId), revision: workspace.revision };
  const ofIdentity = { stream: identityStream(identityId), revision: identity.revision };
  const guards = [installation.guard, ofWorkspace, ofIdentity];
  if (identity.state.deleted) return { state: "identity_deleted", guards, obstacles: [] };
  if (installation.paused) return { state: "installation_paused", guards, obstacles: guards };
  if (workspace.state.sendingPaused) return { state: "sending_paused", guards, obstacles: guards };
  if (identity.state.status !== "active") return { state: "identity_disabled", guards, obstacles: [ofIdentity] };
  if (!(await identityWorks(look, { identityId, identity: identity.state }))) return overCap(deps, sender, guards);
  const domain = await ownDomainOf(look, identity.state);
  if (!domain || domain.state.status === "verified") return { state: "allowed", guards, obstacles: [] };
  const ofDomain = { stream: domainStream(identity.state.domainId), revision: domain.revision };
  return { state: "domain_not_verified", guards, obstacles: [ofIdentity, ofDomain] };
}

/** All that a sender is judged by, asked for at once: with its domain and the places in its plan, where those were needed before. */
export function senderNow(look: Dependencies, { workspaceId, identityId }: Sender) {
  const kept = look.identities.kept(identityId)?.state;
  const places = (["identities", "domains"] as const)
    .map((kind) => ({ workspaceId, kind }))
    .filter((slots) => look.slots.kept(slots) !== undefined);
  return Promise.all([
    installationNow(look),
    look.workspaces.load(workspaceId),
    look.identities.load(identityId),
    kept?.exists ? ownDomainOf(look, kept) : undefined,
    ...places.map((slots) => look.slots.load(slots)),
  ]);
}

/** Another plan gives it room again, and so does the end of another identity or domain. */
async function overCap(deps: Dependencies, { workspaceId, identityId }: Sender, guards: Guard[]): Promise<Standing> {
  const [identities, domains] = await Promise.all([
    deps.slots.load({ workspaceId, kind: "identities" }),
    deps.slots.load({ workspaceId, kind: "domains" }),
  ]);
  const others = await Promise.all([
    ...Object.keys(identities.state)
      .filter((id) => id !== identityId)
      .map(async (id) => ({ stream: identityStream(id), revision: (await deps.identities.load(id)).revision })),
    ...Object.keys(domains.state).map(async (id) => ({
      stream: domainStream(id),
      revision: (await deps.domains.load(id)).revision,
    })),
  ]);
  const { state: identity } = await deps.identities.load(identityId);
  if (await identityWorks(deps, { identityId, identity })) return sendingStanding(deps, { workspaceId, identityId });
  return { state: "identity_over_cap", guards, obstacles: [...guards, ...others] };
}

/** Throws Rejected sending_paused or identity_not_active. */
export async function requireSendingAllowed(
  deps: Dependencies,
  draft: { workspaceId: string; identityId: string },
): Promise<void> {
  const { state } = await sendingStanding(deps, draft);
  if (state === "installation_paused") {
    throw new Rejected("sending_paused", "the operator of this service has paused all sending: try again later");
  }
  if (state === "sending_paused") {
    throw new Rejected("sending_paused", await pausedSentence(deps, draft.workspaceId));
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

/** With the reason, if one was given. */
async function pausedSentence(deps: Dependencies, workspaceId: string): Promise<string> {
  const { sendingPausedReason: reason } = (await deps.workspaces.load(workspaceId)).state;
  const because = reason === null ? "" : ` (${reason})`;
  return `sending is paused for this workspace${because}: set sending_paused to false to send`;
}

/** Throws Rejected human_approval_required if only a person may decide about this identity's drafts. */
export async function requireKeysMayDecide(deps: Dependencies, draft: { identityId: string }): Promise<void> {
  const { state: identity } = await deps.identities.load(draft.identityId);
  if (!(await requiresHuman(deps, identity))) return;
  throw new Rejected(
    "human_approval_required",
    "this identity requires human approval: a person has to decide, through its approval channel or in the console",
  );
}

/** Throws Rejected approvals_missing if several have to approve: then nothing approves without them. */
export async function requireOneApproval(deps: Dependencies, draft: { identityId: string }): Promise<void> {
  const { approvalsRequired: required } = (await deps.identities.load(draft.identityId)).state;
  if (required === 1) return;
  throw new Rejected("approvals_missing", `this identity requires ${required} approvals`, { required });
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
    await changeDraft(deps, { draftId, command: back }, cause);
    throw error;
  }
}
