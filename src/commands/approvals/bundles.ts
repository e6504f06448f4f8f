import { openDraftsOfIdentity, openRequests } from "#projections/drafts/queries.ts";
import type { Channel } from "#src/channels/channel.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { Identity } from "#streams/identity/decider.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { Dependencies } from "../dependencies.ts";

/** So many open requests a mailbox gets each in a mail of its own. What is asked above that waits a little, for one mail with the others. */
const usualMostAlone = 30;

/** Requests of an identity whose escalation comes so soon do not wait for long. */
const soonMinutes = 30;

type Question = {
  draftId: string;
  draft: Draft;
  identity: Identity;
  channel: ApprovalChannel;
  slot: ApprovalRequest["channel"]["slot"];
};

/**
 * Whether a request waits for one mail with others of its mailbox: an edit of the identity made this version and those of its other drafts,
 * or so many requests are open there already. Where a code is asked for it never does: each code belongs to one mail and one draft.
 */
export async function comesBundled(deps: Dependencies, by: Channel, question: Question): Promise<boolean> {
  const { draftId, draft, channel, identity } = question;
  const address = channel.config.to;
  if (by.askTogether === undefined || address === undefined || identity.confirmCode) return false;
  if (await isOneOfManyNew(deps, question)) return true;
  const most = deps.settings.mostMailedAlone ?? usualMostAlone;
  const others = { address: address.toLowerCase(), besides: draftId, most };
  return (await openRequests(deps.reads, draft.workspaceId, others)) >= most;
}

/** The service itself made this version, nobody was asked about it yet, and the identity has more open drafts, which changed too. */
async function isOneOfManyNew(deps: Dependencies, { draft, slot }: Question): Promise<boolean> {
  if (slot !== "primary" || !isOfIdentityEdit(draft)) return false;
  if (Object.values(draft.notified.open).some(({ version }) => version === draft.version)) return false;
  return (await openDraftsOfIdentity(deps.reads, draft.workspaceId, draft.identityId)) > 1;
}

const isOfIdentityEdit = (draft: Draft): boolean => draft.authoredVersion < draft.version;

/** Whether a request that waits for others waits for seconds only: new versions come all at once, and an escalation does not wait. */
export async function isAskedSoon(deps: Dependencies, draftId: string): Promise<boolean> {
  const { state: draft } = await deps.drafts.load(draftId);
  if (isOfIdentityEdit(draft)) return true;
  const { state: identity } = await deps.identities.load(draft.identityId);
  const { secondaryApprovalChannel: secondary, escalationDelayMinutes: delay } = identity;
  return secondary !== null && delay !== null && delay < soonMinutes;
}
