import type { FetchedFile } from "#src/channels/approvalDecisions.ts";
import type { AttachmentFact } from "#src/channels/approvalView.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { resolveToken } from "./approvalTokens.ts";
import { readBlobInParts } from "./readBlobInParts.ts";

/**
 * Returns the n-th attachment, from 1, of the version that a link was issued for, while that version is the newest and the
 * link is neither closed nor expired, even after a decision. Null if the link shows nothing or has no such attachment;
 * undefined for an unknown token. Reads only.
 */
export async function linkedAttachment(
  deps: Dependencies,
  token: string,
  n: number,
): Promise<FetchedFile | null | undefined> {
  const link = await resolveToken(deps, token);
  if (!link) return undefined;
  if (link.asked.closed || link.asked.version !== link.draft.version) return null;
  if (Date.parse(link.asked.expiresAt) <= deps.clock.now().getTime()) return null;
  const { attachments } = await loadContent(deps.blobs, link.draft.stored);
  const file = attachments[n - 1];
  const size = file && (await deps.blobs.size(file.sha256));
  if (file === undefined || size === undefined) return null;
  return { name: file.filename, size, parts: () => readBlobInParts(deps.blobs, { sha256: file.sha256, size }) };
}

/** Adds the address of each file for a link's page, relative to the page's own address. */
export const withDownloads = (facts: readonly AttachmentFact[], token: string): AttachmentFact[] =>
  facts.map((fact, index) => ({
    ...fact,
    download: fact.size === null ? null : `${token}/attachments/${index + 1}`,
  }));
