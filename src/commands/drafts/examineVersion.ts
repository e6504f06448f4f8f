import { messageById } from "#projections/messages/queries.ts";
import type { VersionView } from "#src/channels/approvalWarnings.ts";
import { attachmentFacts } from "#src/channels/attachments/attachmentFacts.ts";
import type { ContentOrigin, DraftContent } from "#streams/draft/content.ts";
import type { Draft } from "#streams/draft/draft.ts";
import type { VersionWarning } from "#streams/draft/warnings.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { messageWithHints } from "../approvals/answeredMessage.ts";
import { repliesLeave } from "../approvals/approvalViews.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadThread } from "../threads/threads.ts";

/** A version of a draft that is about to be recorded. */
export type NewVersion = Pick<Draft, "workspaceId" | "threadId" | "basedOnMessageId"> & {
  identity: Pick<Identity, "signatureText">;
  content: DraftContent;
  making: ContentOrigin;
};

/**
 * Finds the warnings of a version, to be stored with it for lists. No decision depends on them: whoever decides is shown a card, which is
 * made afresh. So a failure does not prevent the version; it is then recorded as not examined.
 */
export async function examineVersion(deps: Dependencies, version: NewVersion): Promise<VersionWarning[]> {
  try {
    const view = await viewOf(deps, version);
    return view ? await deps.costlyWork("versionWarnings", view, version.workspaceId) : ["not_examined"];
  } catch (error) {
    deps.log?.warn?.({ err: error, workspaceId: version.workspaceId }, "a version of a draft could not be examined");
    return ["not_examined"];
  }
}

/** Returns undefined if the read model does not have the message that the draft answers. */
async function viewOf(
  deps: Dependencies,
  { workspaceId, threadId, basedOnMessageId, identity, content, making }: NewVersion,
): Promise<VersionView | undefined> {
  const row = basedOnMessageId === null ? undefined : await messageById(deps.reads, workspaceId, basedOnMessageId);
  if (basedOnMessageId !== null && row === undefined) return undefined;
  const message = row && (await messageWithHints(deps, { message: row, identity }));
  const { state: thread } = await loadThread(deps, threadId);
  return {
    content,
    textDerived: making.textDerived === true,
    attachments: await attachmentFacts(deps.blobs, content.attachments),
    answers: message?.shown ?? null,
    participants: thread.participants,
    repliesLeave: await repliesLeave(deps, workspaceId, content.reply_to),
    warnings: message?.notes ?? [],
    hints: message?.hints ?? [],
  };
}
