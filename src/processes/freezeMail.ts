import type { Dependencies } from "#src/commands/dependencies.ts";
import { loadContent } from "#src/commands/drafts/draftContents.ts";
import { signWithDkim } from "#src/commands/sends/signing.ts";
import { filesOf, type RenderedMail, renderMail } from "#src/mail/out/render.ts";
import { type Draft, isByGrant } from "#streams/draft/draft.ts";

/** `mimeSha256`: key of the stored mail in the blob store. */
export type FrozenMail = RenderedMail & { messageId: string; mimeSha256: string };

/** Renders and signs the mail of an attempt, and stores the bytes that will be sent. */
export async function freezeMail(deps: Dependencies, draft: Draft, attemptId: string): Promise<FrozenMail> {
  const content = await loadContent(deps.blobs, draft.stored);
  const domain = content.from.address.slice(content.from.address.lastIndexOf("@") + 1);
  const { identityId, threadId } = draft;
  const messageId = deps.messageIds.mint({ identityId, threadId, attemptId, domain });
  const attachments = new Map<string, Buffer>();
  for (const sha256 of filesOf(content)) {
    const bytes = await deps.blobs.get(sha256);
    if (!bytes) throw new Error(`the attached file ${sha256} is missing`);
    attachments.set(sha256, bytes);
  }
  const date = deps.clock.now();
  const isAutomatic = isByGrant(draft.approval);
  const { mime: plain, ...rendered } = await renderMail({ content, messageId, date, attachments, isAutomatic });
  const mime = await signWithDkim(deps, identityId, plain);
  return { ...rendered, mime, messageId, mimeSha256: await deps.blobs.put(mime) };
}
