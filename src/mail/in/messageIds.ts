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

/** Words that programs write in place of an id that they do not have. */
const placeholder = /^<\W?(?:null|undefined|nil|none|nan|empty|n\/a|objectobject)?\W?(?:@[^>]*)?>$/i;

/** The ids in a header's value that can name a mail: each has something on both sides of an @, and none is a placeholder. */
export const namedIdsIn = (value: string): string[] =>
  messageIdsIn(value).filter((id) => /^<.+@.+>$/.test(id) && !placeholder.test(id));

/** The id a mail carries itself: a `<…>`, or the whole value if a client left the brackets out. */
export function ownMessageId(value: string): string | undefined {
  return (
    messageIdsIn(value).find((id) => !placeholder.test(id)) ?? (isBare(value.trim()) ? normalised(value) : undefined)
  );
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
  const references = boundedIds(namedIdsIn(fields.first("references")));
  const ids = references.length > 0 ? references : namedIdsIn(fields.first("in-reply-to")).slice(-1);
  return [...ids, ...ids.flatMap(relayIdIn)];
}

/** A relay that puts its own id in place of ours names in its answer only what comes before the @: that id, without a host. */
const relayIdIn = (id: string): string[] => {
  const bare = /^<([^@>]+)@(?:[a-z0-9-]+\.)?amazonses\.com>$/i.exec(id)?.[1];
  return bare === undefined ? [] : [`<${bare}>`];
};

/**
 * The Message-ID that a relay gave a mail, from its answer to the content: `250 Ok <id@host>`, or `250 Ok id` without a host. Undefined where it names none;
 * the number of a queue is none.
 */
export function idInAnswer(response: string): string | undefined {
  const named = /^250[ -].{0,200}?(<[^<>\s@]{1,200}@[^<>\s@]{1,200}>)/i.exec(response)?.[1];
  const bare = /^250[ -](?:\d\.\d{1,3}\.\d{1,3} )?ok:? ([\w.-]{8,200})\s*$/i.exec(response)?.[1];
  return named ?? (bare && `<${bare}>`);
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
