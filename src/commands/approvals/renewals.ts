import type { ApprovalRenewals, Renewal, RenewalPlace, RenewalRequest } from "#src/channels/approvalRenewal.ts";
import { type Guard, StreamMoved } from "#src/eventStore/eventStore.ts";
import { openChangesRequest } from "#streams/draft/draft.ts";
import { type ExpiryCommand, whyNotRenewed } from "#streams/draft/expiry.ts";
import { identityStream } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { isUnsubscribed } from "../serviceMail/unsubscribes.ts";
import { draftOf, hashToken } from "./approvalTokens.ts";
import { type ChannelSlot, channelOf } from "./askApprovers.ts";
import { type RequestBehind, requestsOfToken } from "./bundleLists.ts";
import { isStillChannelOf } from "./channelAddresses.ts";
import { causeOfPress } from "./linkCause.ts";

/** Has the holders of expired links asked again. The token is the permission: it names the mailbox or chat, and no other is asked. */
export const approvalRenewals = (deps: Dependencies): ApprovalRenewals => ({
  renewal: (token) => renewalOf(deps, token),
  renew: (request) => renew(deps, request),
});

async function renewalOf(deps: Dependencies, token: string): Promise<Renewal | undefined> {
  const known = await requestsBehind(deps, token);
  if (!known) return undefined;
  const { workspaceId, workspaceName, requests } = known;
  let first: Judgement | undefined;
  for (const request of requests) {
    const judged = await judge(deps, request);
    if (judged.kind === "possible") return { workspaceId, workspaceName, kind: "possible", place: judged.place };
    // A draft that waits says more than one that does not.
    if (first === undefined || first.kind === "decided") first = judged;
  }
  return first && { workspaceId, workspaceName, ...first };
}

async function renew(deps: Dependencies, request: RenewalRequest): Promise<Renewal | undefined> {
  const known = await requestsBehind(deps, request.token);
  if (!known) return undefined;
  const { workspaceId, workspaceName, requests } = known;
  let place: RenewalPlace | undefined;
  for (const each of requests) {
    place = (await renewOne(deps, each, request)) ?? place;
  }
  // If another press was faster, its request is on its way.
  return place ? { workspaceId, workspaceName, kind: "requested", place } : renewalOf(deps, request.token);
}

/**
 * Has the link's holder asked again about one draft, and returns where; undefined if that is not possible. Judges again if the identity
 * changes meanwhile, because its new approver must not be asked for an old one.
 */
async function renewOne(
  deps: Dependencies,
  behind: RequestBehind,
  request: RenewalRequest,
): Promise<RenewalPlace | undefined> {
  const judged = await judge(deps, behind);
  if (judged.kind !== "possible") return undefined;
  const { draftId, asked } = behind;
  const { state: draft } = await deps.drafts.load(draftId);
  const cause = { ...causeOfPress(deps, { draft, asked }, request), unlessMoved: [judged.judgedBy] };
  try {
    return (await deps.drafts.handle(draftId, judged.command, cause)).changed ? judged.place : undefined;
  } catch (error) {
    if (error instanceof StreamMoved) return renewOne(deps, behind, request);
    throw error;
  }
}

type RequestsBehind = Pick<Renewal, "workspaceId" | "workspaceName"> & { requests: readonly RequestBehind[] };

/** Finds what a token's holder was asked about: one draft, or all of a list. Undefined for a token that was never issued. */
async function requestsBehind(deps: Dependencies, token: string): Promise<RequestsBehind | undefined> {
  const tokenSha256 = hashToken(token);
  const known = await draftOf(deps, tokenSha256);
  if (!known) return undefined;
  const { workspace_id: workspaceId } = known;
  const requests = await requestsOfToken(deps, { ...known, token_sha256: tokenSha256 });
  const { name: workspaceName } = (await deps.workspaces.load(workspaceId)).state;
  return { workspaceId, workspaceName, requests };
}

type Judgement =
  | {
      kind: "possible";
      place: RenewalPlace;
      command: Extract<ExpiryCommand, { type: "RenewRequest" }>;
      /** Guard on the identity at the revision at which it was judged. */
      judgedBy: Guard;
    }
  | { kind: "stopped"; place: RenewalPlace }
  | { kind: "live" | "recent" | "elsewhere" | "changes_requested" | "decided" };

/** Judges if the holder of this request's link can be asked again about the draft's newest version. */
async function judge(deps: Dependencies, { draftId, asked }: RequestBehind): Promise<Judgement> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (draft.status !== "pending") return { kind: "decided" };
  if (openChangesRequest(draft) !== null) return { kind: "changes_requested" };
  const { state: identity, revision } = await deps.identities.load(draft.identityId);
  const isAsked = (slot: ChannelSlot) => slot === "primary" || draft.escalatedVersion === draft.version;
  const slot = (["primary", "secondary"] as const).find(
    (each) => isAsked(each) && isStillChannelOf(deps, identity, { ...asked.channel, slot: each }),
  );
  const channel = slot && channelOf(identity, slot);
  if (!slot || !channel || identity.deleted) return { kind: "elsewhere" };
  const over = Object.values(draft.notified.open).filter((each) => !isStillChannelOf(deps, identity, each.channel));
  const command = {
    type: "RenewRequest",
    slot,
    at: deps.clock.now().toISOString(),
    notificationId: asked.notificationId,
    throttleSeconds: deps.settings.notifyThrottleSeconds,
    over: over.map(({ notificationId }) => notificationId),
  } as const;
  const possible = {
    kind: "possible",
    command,
    judgedBy: { stream: identityStream(draft.identityId), revision },
  } as const;
  const why = whyNotRenewed(draft, command);
  if (why !== undefined) return { kind: why };
  if (channel.type !== "email") return { ...possible, place: { type: channel.type } };
  const place = { type: "email", address: channel.config.to as string } as const;
  const isStopped = await isUnsubscribed(deps, { workspaceId: draft.workspaceId, address: place.address });
  return isStopped ? { kind: "stopped", place } : { ...possible, place };
}
