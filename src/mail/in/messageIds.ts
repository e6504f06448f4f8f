import { createHash } from "node:crypto";
import type { HeaderFields } from "./headerFields.ts";

/** So many ids place a mail in its conversation; the first names its root, the newest its nearest relatives. */
const maxIds = 50;
/** UTF-8 bytes: what is counted here becomes part of events, whose size is limited. */
const maxIdBytes = 400;

const bracketed = /<([^<>]+)>/g;
const blanks = /[\s\p{Cc}]+/gu;

/** Every `<…>` in a header's value, each once, brackets kept, white space inside removed, case kept. */
export function messageIdsIn(value: string): string[] {
  const ids = [...value.matchAll(bracketed)].map((match) => normalised(match[1]!)).filter((id) => id !== "<>");
  return [...new Set(ids)];
}

/** The id a mail carries itself: a `<…>`, or the whole value if a client left the brackets out. */
export function ownMessageId(value: string): string | undefined {
  return messageIdsIn(value)[0] ?? (isBare(value.trim()) ? normalised(value) : undefined);
}

/** One word with an @ inside. Not one pattern for all of it: of 64 KB of @ that would try every pair. */
function isBare(id: string): boolean {
  const at = id.indexOf("@", 1);
  return at > 0 && at < id.length - 1 && !/[\s<>]/.test(id);
}

/** At most 50: the first and the newest. */
export const boundedIds = (ids: string[]): string[] =>
  ids.length <= maxIds ? ids : [ids[0]!, ...ids.slice(1 - maxIds)];

/** The ids that a mail names as its thread: all of References, or the last of In-Reply-To, where old clients put an address before it. */
export function threadIdsOf(fields: Pick<HeaderFields, "first">): string[] {
  const references = boundedIds(messageIdsIn(fields.first("references")));
  return references.length > 0 ? references : messageIdsIn(fields.first("in-reply-to")).slice(-1);
}

/** An id for a mail without one, the same for the same bytes. Ours alone: nothing that leaves may name it. */
export const derivedMessageId = (rawSha256: string): string => `<${rawSha256}@missing.local>`;

/** True for an id that no mail program has seen: one derived here, or the shortened form of one too long. */
export const isMadeHere = (messageId: string): boolean => /^<[0-9a-f]{64}@(missing|long)\.local>$/.test(messageId);

function normalised(inner: string): string {
  const id = inner.replace(blanks, "");
  // Shortened alike wherever it occurs, so that a reply still finds the mail it answers.
  return Buffer.byteLength(id) > maxIdBytes
    ? `<${createHash("sha256").update(id).digest("hex")}@long.local>`
    : `<${id}>`;
}
