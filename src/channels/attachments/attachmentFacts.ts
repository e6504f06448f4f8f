import type { Blobs } from "#src/platform/blobs/blobs.ts";
import type { AttachmentFact } from "../approvalView.ts";
import { fileWarning } from "./fileWarning.ts";
import { foundKind, type InspectedFile, inspectedBytes } from "./foundKind.ts";

/** An attached file as the draft's content names it. */
type DraftFile = { filename: string; content_type: string; sha256: string };

type StoredBytes = Pick<Blobs, "size" | "part">;

/** Collects the facts about a draft's attachments, in order. Reads only the first and last bytes of each file, one file after the other. */
export async function attachmentFacts(blobs: StoredBytes, files: readonly DraftFile[]): Promise<AttachmentFact[]> {
  const facts: AttachmentFact[] = [];
  for (const { filename: name, content_type: declaredType, sha256 } of files) {
    const looked = await lookAt(blobs, sha256);
    const found = looked && (await foundKind(looked));
    const warning = fileWarning({ name, declaredType }, found);
    facts.push({
      name,
      size: looked?.size ?? null,
      declaredType,
      kind: found?.kind?.name ?? null,
      warning,
      download: null,
    });
  }
  return facts;
}

/**
 * Collects the facts about a received message's attachments from its event alone: these files are not sent to anyone, so their bytes are
 * not read.
 */
export const receivedFacts = (
  files: readonly { filename: string; contentType: string; sizeBytes: number | null }[],
): AttachmentFact[] =>
  files.map(({ filename: name, contentType: declaredType, sizeBytes: size }) => {
    const warning = fileWarning({ name, declaredType }, null);
    return { name, size, declaredType, kind: null, warning, download: null };
  });

/** Returns null if the file's bytes are missing. */
async function lookAt(blobs: StoredBytes, sha256: string): Promise<InspectedFile | null> {
  const size = await blobs.size(sha256);
  if (size === undefined) return null;
  const beginning = (await blobs.part(sha256, { from: 0, count: inspectedBytes })) ?? Buffer.alloc(0);
  if (size <= inspectedBytes) return { size, beginning, end: beginning };
  const end = (await blobs.part(sha256, { from: size - inspectedBytes, count: inspectedBytes })) ?? Buffer.alloc(0);
  return { size, beginning, end };
}
