import { startOfBody } from "#src/mail/in/headerFields.ts";

/** Fields whose checking costs as much as the mail is large, each of them. */
export const signatureFields = ["dkim-signature", "arc-message-signature", "arc-seal"] as const;

/** So many of each are looked at. */
const maxSignatures = 5;

const maxHeaderBytes = 256 * 1024;
const maxHeaderLines = 4_000;
const maxFromBytes = 16 * 1024;

const longFrom = /^from[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*/gim;

/** A header as no mail needs it, whose checking would cost more than it is worth. Such a mail proves nothing, and never will. */
export function isOverloaded(header: Buffer): boolean {
  // The library reads a header that begins with blanks or empty lines otherwise than this service does.
  if (header.length > maxHeaderBytes || /^\s/.test(header.toString("latin1", 0, 1))) return true;
  let lines = 0;
  for (let at = header.indexOf(0x0a); at >= 0; at = header.indexOf(0x0a, at + 1)) lines += 1;
  if (lines > maxHeaderLines) return true;
  return (header.toString("latin1").match(longFrom) ?? []).some((field) => field.length > maxFromBytes);
}

/** As the library that checks them finds them: a name may be folded before its colon. */
const signature = /^(dkim-signature|arc-message-signature|arc-seal|arc-authentication-results)\s*:/gim;

/**
 * The mail with at most five signatures of a kind: the lowest, which are those of who wrote it; others are above them. The rest is under
 * another name there, in a copy; whatever signed them does not verify any more. A chain of ARC with more is not looked at, nor is any of it.
 */
export function fewSignatures(raw: Buffer): Buffer {
  const found = [...raw.toString("latin1", 0, startOfBody(raw)).matchAll(signature)].map(({ index, 1: name }) => ({
    index,
    name: (name as string).toLowerCase(),
  }));
  const signatures = found.filter(({ name }) => name === "dkim-signature");
  const chain = found.filter(({ name }) => name !== "dkim-signature");
  const seals = chain.filter(({ name }) => name === "arc-seal" || name === "arc-message-signature");
  const surplus = [
    ...signatures.slice(0, Math.max(0, signatures.length - maxSignatures)),
    ...(seals.length > 2 * maxSignatures ? chain : []),
  ];
  if (surplus.length === 0) return raw;
  const copy = Buffer.from(raw);
  for (const { index } of surplus) copy.write("x", index, "latin1");
  return copy;
}
