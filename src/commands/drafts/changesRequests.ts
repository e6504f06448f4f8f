import { invalidRequest } from "#streams/decider.ts";
import { voterNames } from "../approvals/voters.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { changeDraft } from "./changeDraft.ts";
import { loadDraft } from "./drafts.ts";

type DraftInWorkspace = { workspaceId: string; draftId: string };

/**
 * Asks the agent to change the version that the person or key was shown. The draft stays pending, and nobody can approve or send it until
 * it is edited or the request is withdrawn. Throws Rejected invalid_request (no text), invalid_status, version_mismatch, and
 * changes_requested if another request is open.
 */
export async function requestChanges(
  deps: Dependencies,
  { workspaceId, draftId, ifVersion, text }: DraftInWorkspace & { ifVersion: number | null; text: string },
  cause: Cause,
): Promise<{ position: number }> {
  await loadDraft(deps, workspaceId, draftId);
  const requested = { text: requireWords(text), ifVersion, contentSha256: null, tokenSha256: null };
  const command = { type: "RequestChanges", ...requested, ...(await requesterOf(deps, cause)) } as const;
  return changeDraft(deps, { draftId, command }, cause);
}

/** Withdraws the request for changes of this person or key. Nothing to withdraw is already so. Throws Rejected invalid_status. */
export async function withdrawChangesRequest(
  deps: Dependencies,
  { workspaceId, draftId }: DraftInWorkspace,
  cause: Cause,
): Promise<{ position: number }> {
  await loadDraft(deps, workspaceId, draftId);
  const command = { type: "WithdrawChangesRequest", ...(await requesterOf(deps, cause)) } as const;
  return changeDraft(deps, { draftId, command }, cause);
}

/** Returns the text without surrounding blanks. Throws Rejected invalid_request if nothing is left. */
export function requireWords(text: string): string {
  const words = text.trim();
  if (words === "") throw invalidRequest("text", "expected a sentence that tells the agent what to change");
  return words;
}

async function requesterOf(
  deps: Dependencies,
  { actor }: Cause,
): Promise<{ requester: string; also: readonly string[] }> {
  const { voter, also = [] } = await voterNames(deps, actor, null);
  return { requester: voter, also };
}
