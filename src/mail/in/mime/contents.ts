import type { ParsedAttachment, ParseLimits } from "../parsedMail.ts";
import { fileOfPart } from "./decodedPart.ts";
import { type Part, readParts } from "./partTree.ts";
import { readEnveloped } from "./signedData.ts";

/** The parts that are a mail's text, and its files. A part may be both. */
export type Contents = { texts: Part[]; files: ParsedAttachment[]; notes: string[] };

/** Maximum nesting of signed mails in signed mails. */
const maxEnvelopes = 3;

const textTypes = ["text/plain", "text/html"];
const envelope = /^application\/(?:x-)?pkcs7-mime$/;
/** Part types that only encrypted mail has, with the kind of encryption. */
const encryptedTypes: Readonly<Record<string, string>> = {
  "multipart/encrypted": "OpenPGP",
  "application/pgp-encrypted": "OpenPGP",
  "application/x-microsoft-rpmsg-message": "Microsoft Purview",
};

/** Finds the text parts of a mail, even inside a signature, and its files. Throws if the mail has more of them than the limit. */
export function contentsOf(mail: Buffer, { maxAttachments }: Pick<ParseLimits, "maxAttachments">): Contents {
  const found: Contents = { texts: [], files: [], notes: [] };

  function readAll(bytes: Buffer, depth: number): void {
    const leaves = leavesOf(readParts(bytes));
    for (const [type, how] of Object.entries(encryptedTypes)) {
      const isOfType = ({ contentType }: Part): boolean => contentType.value === type;
      if (leaves.some((leaf) => isOfType(leaf) || leaf.around.some(isOfType))) found.notes.push(encryptedNote(how));
    }
    const body = bodyAmong(leaves);
    if (leaves.length - leaves.filter(isText).length > maxAttachments) {
      throw new Error(`it has ${leaves.length} parts: at most ${maxAttachments} attachments are read`);
    }
    for (const leaf of leaves) readLeaf(leaf, { isBody: leaf === body, depth });
  }

  function readLeaf(leaf: Part, { isBody, depth }: { isBody: boolean; depth: number }): void {
    const { value } = leaf.contentType;
    const isCalendar = value === "text/calendar" && leaf.disposition.value !== "attachment";
    if (value.startsWith("multipart/") && isText(leaf)) {
      found.notes.push("The mail says that it has parts, but they were not found: it is shown as received.");
    }
    if (isText(leaf) || isBody || isCalendar) found.texts.push(leaf);
    if (isText(leaf) || (isBody && isUnnamed(leaf) && textTypes.includes(value))) return;
    const file = fileOfPart(leaf);
    if (found.files.length === maxAttachments) throw new Error(`it has more than ${maxAttachments} attachments`);
    found.files.push(isCalendar && file.filename === null ? { ...file, filename: "invite.ics" } : file);
    if (envelope.test(value) || /\.p7m$/i.test(file.filename ?? "")) readEnvelope(file.bytes, depth);
  }

  function readEnvelope(bytes: Buffer, depth: number): void {
    const inside = readEnveloped(bytes);
    if (inside.kind === "encrypted") found.notes.push(encryptedNote("S/MIME"));
    else if (inside.kind === "signed" && inside.content && depth < maxEnvelopes) readAll(inside.content, depth + 1);
    else found.notes.push("The mail has a part of S/MIME that could not be read. It is attached.");
  }

  readAll(mail, 0);
  return found;
}

export const encryptedNote = (how: string): string =>
  `The mail is encrypted (${how}): it cannot be read here. The whole mail is in its source.`;

function leavesOf(part: Part): Part[] {
  return part.parts.length === 0 ? [part] : part.parts.flatMap(leavesOf);
}

/** True for a part shown as text. A multipart in which no part was found is shown raw. */
const isText = ({ contentType: { value }, disposition }: Part): boolean =>
  (textTypes.includes(value) || value.startsWith("multipart/")) && disposition.value !== "attachment";

/**
 * Returns the part that is a mail's own text, however it is marked: the mail itself if it has no parts; otherwise the first part that is
 * text, or that a program marked as an attachment without a name.
 */
function bodyAmong(leaves: readonly Part[]): Part | undefined {
  if (leaves[0]?.around.length === 0) return leaves.find(isWriting);
  const isPlain = ({ contentType: { value } }: Part): boolean => textTypes.includes(value);
  return leaves.find((leaf) => isText(leaf) || (isPlain(leaf) && isUnnamed(leaf))) ?? leaves.find(isUnnamed);
}

const isWriting = ({ contentType: { value } }: Part): boolean =>
  value.startsWith("text/") && !/\/(?:x-)?(?:v?calendar|vcard|directory)$/.test(value);

const isUnnamed = (part: Part): boolean =>
  isWriting(part) &&
  !part.contentType.parameters.has("name") &&
  ![...part.disposition.parameters.keys()].some((key) => key.startsWith("filename"));
