import { type HeaderFields, readHeaderFields } from "./headerFields.ts";
import { messageIdsIn, threadIdsOf } from "./messageIds.ts";
import { decodeBase64 } from "./mime/transferEncodings.ts";

/** Maximum number of bytes read from a report's body, and of Message-IDs taken from it. */
const maxReportBytes = 256 * 1024;
const maxReportedIds = 10;

/** Matches a base64 part: its header, with the blank line that ends it, and its content, whatever blanks are in it. */
const base64Part =
  /^(content-transfer-encoding:\s{0,20}"?base64\b[^\n]{0,80}\n(?:[^\r\n][^\n]{0,998}\n){0,20}\r?\n)\s{0,1000}([A-Za-z0-9+/=][A-Za-z0-9+/=\s]*)/gim;
const tag = /<[/!a-z][^<>@]{0,300}>/gi;

/**
 * Returns a report's body with its base64 parts decoded. Joins ids that quoted-printable has broken in two. If HTML quotes a header, its
 * lines are appended as text.
 */
export function reportText(fields: HeaderFields): string {
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

/** True for a recipient's complaint in the feedback format that providers agreed on (RFC 5965). */
export const isComplaint = (fields: HeaderFields): boolean =>
  /^(?:message\/feedback-report\b|multipart\/report\b.*report-type\s{0,5}=\s{0,5}"?feedback-report)/is.test(
    fields.first("content-type"),
  );

/** Returns the Message-IDs of the mail that a report is about, from the original header it encloses. */
export function reportedIds(fields: HeaderFields): string[] {
  const text = reportText(fields);
  const found = text.matchAll(/^[> \t]{0,20}(?:original-)?message-id:\s{0,20}<([^<>\s]{1,400})>/gim);
  return messageIdsIn([...found].map((match) => `<${match[1]}>`).join("")).slice(0, maxReportedIds);
}

const ownFields = new Set(["references", "in-reply-to"]);
/** Matches a blank line, which may be quoted. */
const betweenBlocks = /\r?\n[> \t]{0,20}(?:\r?\n|$)/;

/**
 * Returns the thread ids that the reported mail named, from the same enclosed header: even if a relay replaced its Message-ID, they still
 * say what it answers. Reads only the first enclosed mail: others are nested in it.
 */
export function reportedReferences(fields: HeaderFields): string[] {
  const header = reportText(fields).split(betweenBlocks).find(isMailHeader);
  if (header === undefined) return [];
  const quote = /^[> \t]{0,20}(?=from:)/im.exec(header)?.[0] ?? "";
  const lines = header.split("\n").map((line) => (line.startsWith(quote) ? line.slice(quote.length) : line));
  return threadIdsOf(readHeaderFields(Buffer.from(lines.join("\n"), "latin1"), ownFields));
}

/** True for the header of a mail: the header of a part has no From, and a bounce's own prose names no ids. */
const isMailHeader = (block: string): boolean =>
  /^[> \t]{0,20}from:/im.test(block) && /^[> \t]{0,20}(?:message-id|references|in-reply-to):/im.test(block);

/**
 * Classifies a mail by its content type: a report about a delivery, or about something else (a receipt, a complaint). Returns undefined if
 * the mail is no report.
 */
export function reportType(fields: HeaderFields): "delivery" | "other" | undefined {
  const type = fields.first("content-type").toLowerCase();
  if (/^message\/(?:global-)?delivery-status\b/.test(type)) return "delivery";
  if (/^message\/(?:(?:global-)?disposition-notification|feedback-report)\b/.test(type)) return "other";
  if (!/^multipart\/report\b/.test(type)) return undefined;
  return /report-type\s{0,5}=\s{0,5}"?(?:disposition-notification|feedback-report)/.test(type) ? "other" : "delivery";
}

/**
 * True for a report by the recipient's own rules that they refused the mail (RFC 5429, 2.1.2; RFC 8098, 3.2.6): a program deleted or denied
 * it. Programs that were asked for a receipt also report mail that was deleted unread: their subject says so.
 */
export function isRejection(fields: HeaderFields): boolean {
  if (!/\bdisposition-notification\b/i.test(fields.first("content-type"))) return false;
  const subject = fields.first("subject");
  if (/^rejected:/i.test(subject)) return true;
  const isByProgram = /^disposition:\s{0,20}automatic-action\b[^;\n]{0,80};\s{0,20}(?:deleted|denied)\b/im;
  return isByProgram.test(reportText(fields)) && !/^not read:/i.test(subject);
}

/** Actions of RFC 3464 that are not failures; `deliverable` is the result of a probe. */
const harmless = ["delayed", "delivered", "relayed", "expanded", "deliverable"];

/**
 * True unless the report says that nothing failed: a delay or a success is no failure; a missing or unknown action counts as one. Only
 * the fields about recipients count: a line of the enclosed mail may begin the same way.
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
