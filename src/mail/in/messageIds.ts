import { createHash } from "node:crypto";
import type { HeaderFields } from "./headerFields.ts";

/**
 * Maximum number of ids kept to find a mail's conversation. The first id names the first mail of the conversation, the newest ids the
 * mails answered last.
 */
const maxIds = 50;
/** Maximum number of UTF-8 bytes of an id: ids become part of events, whose size is limited. */
const maxIdBytes = 400;

const bracketed = /<([^<>]+)>/g;
const blanks = /[\s\p{Cc}]+/gu;

/** Returns every distinct `<…>` in a header's value, with brackets and case kept and inner white space removed. */
export function messageIdsIn(value: string): string[] {
  const ids = [...value.matchAll(bracketed)].map((match) => normalised(match[1]!)).filter((id) => id !== "<>");
  return [...new Set(ids)];
}

/** Matches what programs write in place of a missing id. */
const placeholder = /^<\W?(?:null|undefined|nil|none|nan|empty|n\/a|objectobject)?\W?(?:@[^>]*)?>$/i;

/** True for a Message-ID of this service, by its MAC. */
export type IsOwnId = (messageId: string) => boolean;
const isNoneOwn: IsOwnId = () => false;

/**
 * Returns the ids in a header's value that can name a mail: each has something on both sides of an @, and none is a placeholder. If the
 * value has no angle brackets at all, only ids of this service: other words with an @ may be addresses, which would join strangers' mails.
 */
export function namedIdsIn(value: string, isOwn: IsOwnId = isNoneOwn): string[] {
  const ids = value.includes("<") ? messageIdsIn(value) : bareIdsIn(value).filter(isOwn);
  return ids.filter((id) => /^<.+@.+>$/.test(id) && !placeholder.test(id));
}

/** Maximum number of words without brackets that are checked, the last ones: checking a MAC takes time. */
const maxBareIds = 2 * maxIds;

const bareIdsIn = (value: string): string[] => {
  const words = value.split(/[\s,;"'()]+/).filter(isBare);
  return [...new Set(words.slice(-maxBareIds).map(normalised))];
};

/** Returns a mail's own id: a `<…>`, or the whole value if a client left out the brackets. */
export function ownMessageId(value: string): string | undefined {
  return (
    messageIdsIn(value).find((id) => !placeholder.test(id)) ?? (isBare(value.trim()) ? normalised(value) : undefined)
  );
}

/** True for one word with an @ inside. Not one regular expression: on 64 KB of @ it would try every pair. */
function isBare(id: string): boolean {
  const at = id.indexOf("@", 1);
  return at > 0 && at < id.length - 1 && !/[\s<>]/.test(id);
}

/** Returns at most 50 ids: the first and the newest. */
export const boundedIds = (ids: string[]): string[] =>
  ids.length <= maxIds ? ids : [ids[0]!, ...ids.slice(1 - maxIds)];

/**
 * Returns the ids that a mail names as its thread: all of References, or the last of In-Reply-To, where old clients put an address before
 * it.
 */
export function threadIdsOf(fields: Pick<HeaderFields, "first">, isOwn?: IsOwnId): string[] {
  const references = boundedIds(namedIdsIn(fields.first("references"), isOwn));
  const ids = references.length > 0 ? references : namedIdsIn(fields.first("in-reply-to"), isOwn).slice(-1);
  return [...ids, ...ids.flatMap(relayIdIn)];
}

/** A relay that replaces our Message-ID may have told only the part before the @: returns that id, which has no host, or nothing. */
export const relayIdIn = (id: string): string[] => {
  const bare = /^<([^@>]+)@(?:[a-z0-9-]+\.)?amazonses\.com>$/i.exec(id)?.[1];
  return bare === undefined ? [] : [`<${bare}>`];
};

/**
 * Returns the Message-ID that a relay assigned, from its response to the content: `250 Ok <id@host>`, or `250 Ok id` without a host.
 * Undefined if it names none; a queue number is not one.
 */
export function idInAnswer(response: string): string | undefined {
  const named = /^250[ -].{0,200}?(<[^<>\s@]{1,200}@[^<>\s@]{1,200}>)/i.exec(response)?.[1];
  const bare = /^250[ -](?:\d\.\d{1,3}\.\d{1,3} )?ok:? ([\w.-]{8,200})\s*$/i.exec(response)?.[1];
  return named ?? (bare && `<${bare}>`);
}

/** Makes an id for a mail without one, always the same for the same bytes. Internal: no mail that is sent may contain it. */
export const derivedMessageId = (rawSha256: string): string => `<${rawSha256}@missing.local>`;

/** True for an id that no mail program has seen: one derived here, or the shortened form of one that was too long. */
export const isMadeHere = (messageId: string): boolean => /^<[0-9a-f]{64}@(missing|long)\.local>$/.test(messageId);

function normalised(inner: string): string {
  const id = inner.replace(blanks, "");
  // Always shortened the same way, so a reply still finds the mail it answers.
  return Buffer.byteLength(id) > maxIdBytes
    ? `<${createHash("sha256").update(id).digest("hex")}@long.local>`
    : `<${id}>`;
}
