import { draftsOfList } from "#projections/drafts/queries.ts";
import type { NextOnList } from "#src/channels/approvalList.ts";
import { type Draft, openChangesRequest } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { draftOf, hashToken } from "./approvalTokens.ts";
import { listedDecision, listedIn, listedToken } from "./bundleTokens.ts";
import { isStillChannelOf } from "./channelAddresses.ts";
import { hasApproved } from "./voters.ts";

/**
 * Finds the next draft of a list that its holder can decide about, besides the one behind `token`. The list's token is the permission: a
 * draft that is not on this list is not looked at. Undefined if the list does not exist or has expired. Reads only.
 */
export async function nextOnList(
  deps: Dependencies,
  listToken: string,
  token: string,
): Promise<NextOnList | undefined> {
  const listSha256 = hashToken(listToken);
  const known = await draftOf(deps, listSha256);
  const rows = known ? await draftsOfList(deps.reads, known.workspace_id, listSha256) : [];
  if (rows.length === 0) return undefined;
  for (const { id } of rows.filter(({ status }) => status === "pending")) {
    const { state: draft } = await deps.drafts.load(id);
    const asked = listedIn(draft, listSha256);
    if (!asked || !(await isForHolder(deps, draft, asked))) continue;
    const its = listedToken(listToken, asked.notificationId, listedDecision);
    if (its !== token) return { token: its };
  }
  return { token: null };
}

/** True if the holder of this request can still decide about the draft, and has not yet. */
async function isForHolder(deps: Dependencies, draft: Draft, asked: ApprovalRequest): Promise<boolean> {
  const { channel, version, expiresAt, notificationId } = asked;
  if (draft.status !== "pending" || version !== draft.version || draft.notified.closed[notificationId]) return false;
  if (Date.parse(expiresAt) <= deps.clock.now().getTime()) return false;
  if (openChangesRequest(draft) !== null || hasApproved(draft, channel.address)) return false;
  const { state: identity } = await deps.identities.load(draft.identityId);
  return isStillChannelOf(deps, identity, channel);
}
