import { type HeaderFields, readHeaderFields } from "./headerFields.ts";
import { messageIdsIn, threadIdsOf } from "./messageIds.ts";
import { decodeBase64 } from "./mime/transferEncodings.ts";

/** How much of a report's body is read, in bytes, and how many Message-IDs are taken from it. */
const maxReportBytes = 256 * 1024;
const maxReportedIds = 10;

/** The header of a part in base64, with its last line, and the lines below it. */
const base64Part =
  /^(content-transfer-encoding:[ \t]{0,20}base64[^\n]{0,80}\n(?:[^\r\n][^\n]{0,998}\n){0,20}\r?\n)((?:[A-Za-z0-9+/=]{1,998}\r?\n)+)/gim;
const tag = /<[/!a-z][^<>@]{0,300}>/gi;

/**
 * A report's body, its parts in base64 decoded. An id that quoted-printable has broken in two is whole again. Where HTML quotes a header, its lines follow
 * as text.
 */
function reportText(fields: HeaderFields): string {
  const body = fields.body.subarray(0, maxReportBytes);
  const isEncoded = /^base64\b/i.test(fields.first("content-transfer-encoding"));
  const text = (isEncoded ? decodeBase64(body) : body)
    .toString("latin1")
    .replace(base64Part, (_, header, lines) => `${header}${decodeBase64(Buffer.from(lines)).toString("latin1")}\n`)
    .replace(/<[^<>]{1,500}>/g, (id) => id.replace(/=\r?\n/g, ""));
  if (!/&(?:lt|#60);/i.test(text)) return text;
  const quoted = text
    .replace(/=\r?\n/g, "")
    .replace(tag, "\n")
    .replace(/&(?:lt|#60);/gi, "<")
    .replace(/&(?:gt|#62);/gi, ">");
  return `${text}\n${quoted}`;
}

/** A recipient's complaint, in the form that providers agreed on (RFC 5965). */
export const isComplaint = (fields: HeaderFields): boolean =>
  /^(?:message\/feedback-report\b|multipart\/report\b.*report-type\s{0,5}=\s{0,5}"?feedback-report)/is.test(
    fields.first("content-type"),
  );

/** The Message-IDs of the mail that a report is about: from the original header that it encloses. */
export function reportedIds(fields: HeaderFields): string[] {
  const text = reportText(fields);
  const found = text.matchAll(/^[> \t]{0,20}(?:original-)?message-id:\s{0,20}<([^<>\s]{1,400})>/gim);
  return messageIdsIn([...found].map((match) => `<${match[1]}>`).join("")).slice(0, maxReportedIds);
}

const ownFields = new Set(["references", "in-reply-to"]);
/** A blank line, which may be quoted. */
const betweenBlocks = /\r?\n[> \t]{0,20}(?:\r?\n|$)/;

/**
 * The ids that the reported mail named as its thread, from the same enclosed header: a mail that got another Message-ID on its way still
 * says there what it answers. Only of the first mail enclosed: others lie within it.
 */
export function reportedReferences(fields: HeaderFields): string[] {
  const header = reportText(fields).split(betweenBlocks).find(isMailHeader);
  if (header === undefined) return [];
  const quote = /^[> \t]{0,20}(?=from:)/im.exec(header)?.[0] ?? "";
  const lines = header.split("\n").map((line) => (line.startsWith(quote) ? line.slice(quote.length) : line));
  return threadIdsOf(readHeaderFields(Buffer.from(lines.join("\n"), "latin1"), ownFields));
}

/** The header of a part has no From, and what a bounce tells in its own words names no ids. */
const isMailHeader = (block: string): boolean =>
  /^[> \t]{0,20}from:/im.test(block) && /^[> \t]{0,20}(?:message-id|references|in-reply-to):/im.test(block);

/** What a report is about by its content type: a delivery, something else (a receipt, a complaint); undefined: no report. */
export function reportType(fields: HeaderFields): "delivery" | "other" | undefined {
  const type = fields.first("content-type").toLowerCase();
  if (/^message\/(?:global-)?delivery-status\b/.test(type)) return "delivery";
  if (/^message\/(?:(?:global-)?disposition-notification|feedback-report)\b/.test(type)) return "other";
  if (!/^multipart\/report\b/.test(type)) return undefined;
  return /report-type\s{0,5}=\s{0,5}"?(?:disposition-notification|feedback-report)/.test(type) ? "other" : "delivery";
}

/** What RFC 3464 calls all that is no failure, and the word of a mere probe. */
const harmless = ["delayed", "delivered", "relayed", "expanded", "deliverable"];

/**
 * A report of a delay or of success tells of no failure; one that does not say, or in a word of its own, is taken for a failure. What it says of
 * its recipients counts: a line of the mail that it encloses may begin alike.
 */
export function reportsFailure(fields: HeaderFields): boolean {
  const text = reportText(fields);
  const ofRecipients = text.split(betweenBlocks).filter((block) => /^(?:final|original)-recipient:/im.test(block));
  if (ofRecipients.some((block) => actionsIn(block).length > 0))
    return ofRecipients.flatMap(actionsIn).some((action) => !harmless.includes(action));
  const actions = actionsIn(text);
  return actions.length === 0 || actions.includes("failed");
}

const actionsIn = (text: string): string[] =>
  [...text.matchAll(/^action:\s{0,20}(\w{1,20})/gim)].map((match) => match[1]!.toLowerCase());
