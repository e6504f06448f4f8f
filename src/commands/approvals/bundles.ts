import { openDraftsOfIdentity, openRequests } from "#projections/drafts/queries.ts";
import type { Channel } from "#src/channels/channel.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";

/** Open requests for which a mailbox gets a mail each. Requests above that wait a little, for one mail with the others. */
const usualMostAlone = 30;

/** Minutes: requests of an identity that escalates sooner than this do not wait for long. */
const soonMinutes = 30;

type BundlingQuestion = {
  draftId: string;
  draft: Draft;
  identity: Identity;
  channel: ApprovalChannel;
  slot: ApprovalRequest["channel"]["slot"];
};

/**
 * True if a request waits to be bundled with others of its mailbox: an identity's edit made new versions of several drafts, or the mailbox
 * has too many open requests. Never true if a code is required: each code belongs to one mail and one draft.
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

/** True if the service made this version, nobody was asked about it yet, and the identity has more open drafts, which changed too. */
async function isOneOfManyNew(deps: Dependencies, { draft, slot }: BundlingQuestion): Promise<boolean> {
  if (slot !== "primary" || !isOfIdentityEdit(draft)) return false;
  if (Object.values(draft.notified.open).some(({ version }) => version === draft.version)) return false;
  return (await openDraftsOfIdentity(deps.reads, draft.workspaceId, draft.identityId)) > 1;
}

const isOfIdentityEdit = (draft: Draft): boolean => draft.authoredVersion < draft.version;

/**
 * True if a bundled request waits for seconds only: versions made by an identity's edit all arrive
 * together, and an escalation must not be delayed.
 */
export async function isBundledSoon(deps: Dependencies, draftId: string): Promise<boolean> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (isOfIdentityEdit(draft)) return true;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const { secondaryApprovalChannel: secondary, escalationDelayMinutes: delay } = identity;
  return secondary !== null && delay !== null && delay < soonMinutes;
}
