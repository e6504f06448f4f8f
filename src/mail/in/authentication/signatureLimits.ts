import { startOfBody } from "#src/mail/in/headerFields.ts";

/** Fields whose check costs time in proportion to the size of the mail, once per occurrence. */
export const signatureFields = ["dkim-signature", "arc-message-signature", "arc-seal"] as const;

/** Maximum number of signatures of each kind that are checked. */
const maxSignatures = 5;

const maxHeaderBytes = 256 * 1024;
const maxHeaderLines = 4_000;
const maxFromBytes = 16 * 1024;

const longFrom = /^from[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*/gim;

/** True for a header that no honest mail needs and whose check would cost too much. Such a mail never proves anything. */
export function isOverloaded(header: Buffer): boolean {
  // The library reads a header that begins with blanks or empty lines differently from this service.
  if (header.length > maxHeaderBytes || /^\s/.test(header.toString("latin1", 0, 1))) return true;
  let lines = 0;
  for (let at = header.indexOf(0x0a); at >= 0; at = header.indexOf(0x0a, at + 1)) lines += 1;
  if (lines > maxHeaderLines) return true;
  return (header.toString("latin1").match(longFrom) ?? []).some((field) => field.length > maxFromBytes);
}

/** Matches signature fields as the verifying library finds them: a name may be folded before its colon. */
const signature = /^(dkim-signature|arc-message-signature|arc-seal|arc-authentication-results)\s*:/gim;

/**
 * Returns a copy of the mail with at most five signatures of a kind: the lowest five in the header, because the author's signatures are
 * there and relays add theirs above. The other fields are renamed in the copy, so signatures that cover them fail. An ARC chain with more
 * than five is not checked at all.
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
