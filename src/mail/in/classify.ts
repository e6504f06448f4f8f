import type { Classification } from "#streams/inbox/events.ts";
import { reportsFailure, reportType } from "./bounces.ts";
import type { HeaderFields } from "./headerFields.ts";

/** The header fields that `classify` and bounces.ts look at. */
export const classifyingFields = [
  "auto-submitted",
  "content-type",
  "from",
  "list-help",
  "list-id",
  "list-post",
  "list-unsubscribe",
  "precedence",
  "return-path",
  "subject",
  "x-auto-reply",
  "x-autoreply",
  "x-autorespond",
  "x-autoresponder",
  "x-failed-recipients",
];

const automaticFields = ["x-autoreply", "x-auto-reply", "x-autorespond", "x-autoresponder"];
const listFields = ["list-id", "list-post", "list-unsubscribe", "list-help"];

const failureSubject =
  /undeliver|delivery (?:status|failure|report|problem|error|has failed)|failure notice|returned mail|mail delivery|non[- ]?remis|unzustellbar|could not be delivered|delivery to the following/i;

/**
 * Who wrote it: a person, a machine's automatic reply, a bounce, or a list (which counts like a person).
 * X-Auto-Response-Suppress is no sign: people's clients send it too. Nor is a postmaster alone: postmasters write mail.
 */
export function classify(fields: HeaderFields, envelopeFrom?: string): Classification {
  const report = reportType(fields);
  if (report === "other") return "auto_reply";
  // Daemons tell of a mere delay too, and not all of them in the form of a report.
  if (report === "delivery" || fields.count("x-failed-recipients") > 0 || isDaemon(fields, envelopeFrom))
    return reportsFailure(fields) ? "bounce" : "auto_reply";
  if (isAutomatic(fields)) return "auto_reply";
  if (envelopeFrom === "") return failureSubject.test(fields.first("subject")) ? "bounce" : "auto_reply";
  const precedence = fields.first("precedence").toLowerCase();
  return listFields.some((name) => fields.count(name) > 0) || /^(?:list|bulk)\b/.test(precedence) ? "list" : "person";
}

function isDaemon(fields: HeaderFields, envelopeFrom?: string): boolean {
  const from = fields.first("from").toLowerCase();
  if (/\bmailer[- ]daemon\b/.test(from)) return true;
  const nobody = envelopeFrom === "" || /^<\s*>$/.test(fields.first("return-path"));
  return /\b(?:postmaster|mail delivery)/.test(from) && (nobody || failureSubject.test(fields.first("subject")));
}

function isAutomatic(fields: HeaderFields): boolean {
  const autoSubmitted = fields.first("auto-submitted").toLowerCase();
  if (autoSubmitted !== "" && !/^no\b/.test(autoSubmitted)) return true;
  if (automaticFields.some((name) => fields.count(name) > 0)) return true;
  return /^(?:auto_reply|junk)\b/i.test(fields.first("precedence"));
}
