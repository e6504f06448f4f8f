import { openDraftsOfIdentity, openRequests } from "#projections/drafts/queries.ts";
import type { Channel } from "#src/channels/channel.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";

/**
 * Default number of open requests of a mailbox that are each sent as a separate mail. Further requests wait a little and share one mail.
 */
const usualMostAlone = 30;

/** Escalation delay in minutes. Requests of an identity with a shorter delay are not kept waiting for long. */
const soonMinutes = 30;

type BundlingQuestion = {
  draftId: string;
  draft: Draft;
  identity: Identity;
  channel: ApprovalChannel;
  slot: ApprovalRequest["channel"]["slot"];
};

/**
 * Returns true if a request waits to be bundled with others of the same mailbox: because an identity's edit made new versions of several
 * drafts, or because the mailbox has too many open requests. Returns false if a confirmation code is required, because each code belongs to
 * one mail and one draft.
 */
export async function isBundled(deps: Dependencies, by: Channel, question: BundlingQuestion): Promise<boolean> {
  const { draftId, draft, channel, identity } = question;
  const address = channel.config.to;
  if (by.askTogether === undefined || address === undefined || identity.confirmCode) return false;
  if (await isOneOfManyNew(deps, question)) return true;
  const most = deps.settings.mostMailedAlone ?? usualMostAlone;
  const others = { address: address.toLowerCase(), besides: draftId, most };
  return (await openRequests(deps.reads, draft.workspaceId, others)) >= most;
}

/**
 * Returns true if an identity's edit made this version, nobody was asked about the version yet, and the identity has other open drafts,
 * which the edit changed too.
 */
async function isOneOfManyNew(deps: Dependencies, { draft, slot }: BundlingQuestion): Promise<boolean> {
  if (slot !== "primary" || !isOfIdentityEdit(draft)) return false;
  if (Object.values(draft.notified.open).some(({ version }) => version === draft.version)) return false;
  return (await openDraftsOfIdentity(deps.reads, draft.workspaceId, draft.identityId)) > 1;
}

const isOfIdentityEdit = (draft: Draft): boolean => draft.authoredVersion < draft.version;

/**
 * Returns true if a bundled request waits only for seconds: because versions made by an identity's edit arrive within moments of each
 * other, or because a short escalation delay leaves no time for a longer wait.
 */
export async function isBundledSoon(deps: Dependencies, draftId: string): Promise<boolean> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (isOfIdentityEdit(draft)) return true;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const { secondaryApprovalChannel: secondary, escalationDelayMinutes: delay } = identity;
  return secondary !== null && delay !== null && delay < soonMinutes;
}
