import type { Guard } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { domainStream } from "#streams/domain/events.ts";
import { identityStream } from "#streams/identity/events.ts";
import { workspaceStream } from "#streams/workspace/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { domainOfIdentity } from "../domains/domains.ts";
import { isIdentityWithinPlan } from "../identities/identities.ts";
import { installationNow } from "../installation.ts";

export type SendingIdentity = { workspaceId: string; identityId: string };

/** Reasons why a sender may not send. */
export type SenderObstacle =
  | "installation_paused"
  | "sending_paused"
  | "domain_not_verified"
  | "identity_disabled"
  | "identity_over_cap"
  | "identity_deleted";

/**
 * `obstacle`: what prevents the sender from sending; null if nothing does. `guards`: on the streams of installation, workspace and identity
 * at the judged revisions. `endedBy`: streams whose next event may end the obstacle, at the judged or an earlier revision; empty if no
 * event can.
 */
export type SenderState = { obstacle: SenderObstacle | null; guards: readonly Guard[]; endedBy: readonly Guard[] };

/**
 * Reads what installation, workspace, identity and domain allow now. If the identity's domain is no longer verified, nothing is sent until
 * it is verified again. Each revision is read before the state is judged, so that a change in between is noticed.
 */
export async function senderState(deps: Dependencies, sender: SendingIdentity): Promise<SenderState> {
  const { workspaceId, identityId } = sender;
  const [installation, workspace, { state: identity, revision }] = await Promise.all([
    installationNow(deps),
    deps.workspaces.load(workspaceId),
    deps.identities.load(identityId),
  ]);
  const ofWorkspace = { stream: workspaceStream(workspaceId), revision: workspace.revision };
  const ofIdentity = { stream: identityStream(identityId), revision };
  const guards = [installation.guard, ofWorkspace, ofIdentity];
  if (identity.deleted) return { obstacle: "identity_deleted", guards, endedBy: [] };
  if (installation.paused) return { obstacle: "installation_paused", guards, endedBy: guards };
  if (workspace.state.sendingPaused) return { obstacle: "sending_paused", guards, endedBy: guards };
  if (identity.status !== "active") return { obstacle: "identity_disabled", guards, endedBy: [ofIdentity] };
  const [works, domain] = await Promise.all([
    isIdentityWithinPlan(deps, { identityId, identity }),
    domainOfIdentity(deps, identity),
  ]);
  if (!works) return overCap(deps, sender, guards);
  if (!domain || domain.state.status === "verified") return { obstacle: null, guards, endedBy: [] };
  const ofDomain = { stream: domainStream(identity.domainId), revision: domain.revision };
  return { obstacle: "domain_not_verified", guards, endedBy: [ofIdentity, ofDomain] };
}

/** Returns the state of a sender above the plan's limit. That ends with another plan, or when another identity or domain is deleted. */
async function overCap(deps: Dependencies, sender: SendingIdentity, guards: Guard[]): Promise<SenderState> {
  const { workspaceId, identityId } = sender;
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
  if (await isIdentityWithinPlan(deps, { identityId, identity })) return senderState(deps, sender);
  return { obstacle: "identity_over_cap", guards, endedBy: [...guards, ...others] };
}

/** Returns the refusal for an obstacle. `reason`: why the workspace has paused sending, if a reason was given. */
export function senderRefusal(obstacle: SenderObstacle, reason: string | null): Rejected {
  const because = reason === null ? "" : ` (${reason})`;
  const sentences: Record<SenderObstacle, string> = {
    installation_paused: "the operator of this service has paused all sending: try again later",
    sending_paused: `sending is paused for this workspace${because}: set sending_paused to false to send`,
    identity_over_cap:
      "this identity cannot send, because your plan allows fewer identities: upgrade the plan, or delete an older identity",
    domain_not_verified:
      "this identity's domain is no longer verified: restore its DNS records, then call POST /v1/domains/{id}/verify",
    identity_deleted: "this identity has been deleted and cannot send: use another one",
    identity_disabled: "this identity is disabled and cannot send: set its status to active",
  };
  const isPause = obstacle === "installation_paused" || obstacle === "sending_paused";
  return new Rejected(isPause ? "sending_paused" : "identity_not_active", sentences[obstacle]);
}
