import { verify } from "node:crypto";
import { hashChildren } from "#src/audit/merkle.ts";
import { isOf, type NoteVerifier, splitNote } from "#src/audit/signedNote.ts";

// The reading side of the audit formats: the service only writes them, and src/audit/verify.mjs reads them by itself.

/**
 * Returns the text of a note that one of these keys has signed; undefined if none has, or a signature of one of them is wrong. Signatures
 * of other keys are ignored, as the format demands.
 */
export function openNote(note: string, verifiers: readonly NoteVerifier[]): string | undefined {
  const { text, signatures } = splitNote(note) ?? { text: "", signatures: [] };
  let isSigned = false;
  for (const each of signatures) {
    const known = verifiers.find((verifier) => isOf(verifier)(each));
    if (!known) continue;
    if (!verify(null, Buffer.from(text), known.publicKey, each.signature)) return undefined;
    isSigned = true;
  }
  return isSigned ? text : undefined;
}

/** Reads a proof; undefined if it is none. */
export function readProof(text: string): { entry: number; hashes: readonly Buffer[]; checkpoint: string } | undefined {
  const end = text.indexOf("\n\n");
  const [first, index = "", ...hashes] = text.slice(0, end).split("\n");
  const [, entry] = /^index (0|[1-9]\d{0,14})$/.exec(index) ?? [];
  if (end < 0 || first !== "c2sp.org/tlog-proof@v1" || entry === undefined || hashes.length > 63) return undefined;
  if (hashes.some((hash) => !/^[A-Za-z0-9+/]{43}=$/.test(hash))) return undefined;
  return {
    entry: Number(entry),
    hashes: hashes.map((hash) => Buffer.from(hash, "base64")),
    checkpoint: text.slice(end + 2),
  };
}

/** Returns the root that a proof of inclusion leads to; undefined if the proof has not the length that entry and size require. */
export function rootByInclusion(
  hash: Buffer,
  { entry, size, proof }: { entry: number; size: number; proof: readonly Buffer[] },
): Buffer | undefined {
  if (entry < 0 || entry >= size) return undefined;
  let [at, last, root] = [entry, size - 1, hash];
  for (const beside of proof) {
    if (last === 0) return undefined;
    const isRight = at % 2 === 1 || at === last;
    root = isRight ? hashChildren(beside, root) : hashChildren(root, beside);
    // The last node of a level without a right neighbour moves up unchanged until it has one on its left.
    while (isRight && at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : undefined;
}
