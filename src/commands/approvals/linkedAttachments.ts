import type { FetchedFile } from "#src/channels/approvalDecisions.ts";
import type { AttachmentFact } from "#src/channels/approvalView.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "../drafts/draftContents.ts";
import { resolveToken } from "./approvalTokens.ts";
import { readBlobInParts } from "./readBlobInParts.ts";

/**
 * Returns the n-th attachment (from 1) of the version that a link was issued for, even after a decision. The version must still be the
 * newest, and the link neither closed nor expired; otherwise, or if there is no such attachment, returns null. Returns undefined for an
 * unknown token. Changes nothing.
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

/** Adds the download URL of each file to the page of a link. The URLs are relative to the page's own URL. */
export const withDownloads = (facts: readonly AttachmentFact[], token: string): AttachmentFact[] =>
  facts.map((fact, index) => ({
    ...fact,
    download: fact.size === null ? null : `${token}/attachments/${index + 1}`,
  }));
