import type { FetchedFile } from "#src/channels/approvalDecisions.ts";
import type { AttachmentFact } from "#src/channels/approvalView.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { linked } from "./approvalTokens.ts";
import { checkedParts } from "./checkedParts.ts";

/**
 * The n-th attachment, from 1, of what a link shows: of the version that it was given out for, as long as that is the newest and the link
 * was not closed and has not run out, whatever was decided meanwhile. Null where the link shows nothing, or has no such attachment; undefined for a token that
 * was never given out. Reads only.
 */
export async function linkedAttachment(
  deps: Dependencies,
  token: string,
  n: number,
): Promise<FetchedFile | null | undefined> {
  const link = await linked(deps, token);
  if (!link) return undefined;
  if (link.asked.closed || link.asked.version !== link.draft.version) return null;
  if (Date.parse(link.asked.expiresAt) <= deps.clock.now().getTime()) return null;
  const { attachments } = await loadContent(deps.blobs, link.draft.stored);
  const file = attachments[n - 1];
  const size = file && (await deps.blobs.size(file.sha256));
  if (file === undefined || size === undefined) return null;
  return { name: file.filename, size, parts: () => checkedParts(deps.blobs, { sha256: file.sha256, size }) };
}

/** Where the page behind a link fetches each file, relative to its own address. */
export const withDownloads = (facts: readonly AttachmentFact[], token: string): AttachmentFact[] =>
  facts.map((fact, index) => ({
    ...fact,
    download: fact.size === null ? null : `${token}/attachments/${index + 1}`,
  }));
