import type { Blobs } from "#src/blobs/blobs.ts";
import type { AttachmentFact } from "../approvalView.ts";
import { endingsOf } from "./fileNames.ts";
import { fileWarning } from "./fileWarning.ts";
import { type Found, foundKind, type LookedAt, lookedAtBytes } from "./foundKind.ts";
import { kindOfEnding, kindOfType } from "./kinds.ts";

/** A file that would be sent along, as its content names it. */
type Attached = { filename: string; content_type: string; sha256: string };

type StoredBytes = Pick<Blobs, "size" | "part">;

/**
 * What an approver is told of the files that would be sent along, in their order. Of each, a beginning and an end are read, one file
 * after the other, however large they are.
 */
export async function attachmentFacts(blobs: StoredBytes, files: readonly Attached[]): Promise<AttachmentFact[]> {
  const facts: AttachmentFact[] = [];
  for (const { filename: name, content_type: declaredType, sha256 } of files) {
    const looked = await lookAt(blobs, sha256);
    const found = looked && (await foundKind(looked));
    facts.push({ name, size: looked?.size ?? null, declaredType, ...judged({ name, declaredType }, found) });
  }
  return facts;
}

/** The same of the files of a message that came in, by what it says of them: nobody is sent these, so their bytes are not read. */
export const receivedFacts = (
  files: readonly { filename: string; contentType: string; sizeBytes: number | null }[],
): AttachmentFact[] =>
  files.map(({ filename: name, contentType: declaredType, sizeBytes: size }) => ({
    ...{ name, size, declaredType },
    ...judged({ name, declaredType }, null),
  }));

function judged(
  file: { name: string; declaredType: string },
  found: Found | null,
): Pick<AttachmentFact, "kind" | "warning" | "download"> {
  const kind = found ? found.kind : (kindOfType(file.declaredType) ?? kindOfEnding(endingsOf(file.name).last));
  return { kind: kind?.name ?? null, warning: fileWarning(file, found), download: null };
}

/** Null if its bytes are not there. */
async function lookAt(blobs: StoredBytes, sha256: string): Promise<LookedAt | null> {
  const size = await blobs.size(sha256);
  if (size === undefined) return null;
  const beginning = (await blobs.part(sha256, { from: 0, count: lookedAtBytes })) ?? Buffer.alloc(0);
  if (size <= lookedAtBytes) return { size, beginning, end: beginning };
  const end = (await blobs.part(sha256, { from: size - lookedAtBytes, count: lookedAtBytes })) ?? Buffer.alloc(0);
  return { size, beginning, end };
}
