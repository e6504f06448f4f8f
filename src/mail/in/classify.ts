import type { Classification, MailHeaders } from "#streams/inbox/events.ts";
import { readAddresses } from "./addressList.ts";
import { isRejection, reportsFailure, reportType } from "./bounces.ts";
import type { HeaderFields } from "./headerFields.ts";
import { decodeWords } from "./mime/encodedWords.ts";

/** The header fields that `classify` and bounces.ts read. */
export const classifyingFields = [
  "auto-submitted",
  "content-transfer-encoding",
  "content-type",
  "from",
  "in-reply-to",
  "list-help",
  "list-id",
  "list-post",
  "list-unsubscribe",
  "precedence",
  "return-path",
  "subject",
  "x-apple-action",
  "x-auto-reply",
  "x-auto-response-suppress",
  "x-autoreply",
  "x-autorespond",
  "x-autoresponder",
  "x-failed-recipients",
  "x-loop",
  "x-ms-exchange-message-is-ndr",
];

const automaticFields = ["x-autoreply", "x-auto-reply", "x-autorespond", "x-autoresponder", "x-apple-action"];
const listFields = ["list-id", "list-post", "list-unsubscribe", "list-help"];

const failureSubject =
  /undeliver|delivery (?:status|failure|report|problem|error|has failed)|failure notice|returned mail|mail delivery|non[- ]?remis|unzustellbar|could not be delivered|delivery to the following/i;

/** Beginnings of the subjects of automatic replies, by language: mostly those of Exchange. A colon follows. */
const automaticSubjects = [
  ...["auto", "autoreply", "auto-reply", "auto reply", "out of office autoreply", "out of the office"],
  ...["automatic reply", "out of office", "automatische antwort", "abwesenheitsnotiz", "réponse automatique"],
  ...["respuesta automática", "risposta automatica", "automatisch antwoord", "resposta automática", "autosvar"],
  ...[
    "automatiskt svar",
    "automatisk svar",
    "automaattinen vastaus",
    "automatyczna odpowiedź",
    "odpowiedź automatyczna",
  ],
  ...["automatická odpověď", "automatická odpoveď", "automatikus válasz", "răspuns automat", "автоматичен отговор"],
  ...["автоматический ответ", "автоматична відповідь", "αυτόματη απάντηση", "otomatik yanıt", "automatski odgovor"],
  ...["аутоматски одговор", "samodejni odgovor", "automatinis atsakymas", "automātiska atbilde", "automaatvastus"],
  ...[
    "自動応答",
    "自動返信",
    "自动答复",
    "自动回复",
    "自動回覆",
    "자동 회신",
    "자동 응답",
    "رد تلقائي",
    "תשובה אוטומטית",
  ],
  ...["ตอบกลับอัตโนมัติ", "การตอบกลับอัตโนมัติ", "trả lời tự động", "balasan otomatis", "स्वचालित उत्तर", "resposta automàtica"],
  ...["erantzun automatikoa", "автоматты жауап"],
];

/** True if the field is present and its value is not a denial. */
const affirms = (value: string): boolean => value !== "" && !/^(?:no|none|false|off|0)\b/i.test(value);

/** Class of a mail, as far as its bytes show it, and the signs that filing needs to decide whose mail it is (MailHeaders). */
export type MailSigns = { classification: Classification } & Pick<MailHeaders, "generated" | "automaticIfOurs">;

/**
 * Classifies the author: a person, an automatic reply, a bounce, or a mailing list (which counts like a person). Only a mail that answers
 * something is an automatic reply; any other mail of a program, such as a web form's, is a person's or a list's, and `generated`.
 * X-Auto-Response-Suppress alone is no sign: people's clients send it too. A postmaster's address is no sign either, because postmasters
 * write mail too.
 */
export function classify(fields: HeaderFields, envelopeFrom?: string): MailSigns {
  const report = classifyReport(fields, envelopeFrom);
  if (report !== undefined) return { classification: report };
  const isGenerated = hasMachineSign(fields, envelopeFrom);
  if (isAutomaticReply(fields, isGenerated) || isListServer(fields)) return { classification: "auto_reply" };
  if (envelopeFrom === "" && failureSubject.test(fields.first("subject"))) return { classification: "bounce" };
  const isList = listFields.some((name) => fields.count(name) > 0) || /^list\b/i.test(fields.first("precedence"));
  return {
    classification: isList ? "list" : "person",
    ...(isGenerated && { generated: true as const }),
    ...((envelopeFrom === "" || isLoopOfSender(fields)) && { automaticIfOurs: true as const }),
  };
}

/** Classifies a report about a mail; undefined if the mail is none. */
function classifyReport(fields: HeaderFields, envelopeFrom?: string): Classification | undefined {
  const report = reportType(fields);
  if (report === "other") return isRejection(fields) ? "bounce" : "auto_reply";
  // Daemons report a mere delay too, and not all of them in the form of a report.
  const isReport = report === "delivery" || fields.count("x-ms-exchange-message-is-ndr") > 0;
  const isFailure = fields.first("x-failed-recipients") !== "";
  if (!isReport && !isFailure && !isDaemon(fields, envelopeFrom)) return undefined;
  return reportsFailure(fields) ? "bounce" : "auto_reply";
}

function isDaemon(fields: HeaderFields, envelopeFrom?: string): boolean {
  const from = fields.first("from").toLowerCase();
  if (/\bmailer[- ]daemon\b/.test(from)) return true;
  const nobody = envelopeFrom === "" || /^<\s*>$/.test(fields.first("return-path"));
  return /\b(?:postmaster|mail delivery)/.test(from) && (nobody || failureSubject.test(fields.first("subject")));
}

/** True for a mail with a sign that only an answer of a machine has (RFC 3834, 5), or with any sign of a machine and the subject of one. */
function isAutomaticReply(fields: HeaderFields, isGenerated: boolean): boolean {
  if (/^auto-replied\b/i.test(fields.first("auto-submitted"))) return true;
  if (automaticFields.some((name) => affirms(fields.first(name)))) return true;
  if (/^auto_reply\b/i.test(fields.first("precedence"))) return true;
  if (isGenerated && hasAutomaticSubject(fields)) return true;
  return isExchangeReply(fields) || isCalendarReply(fields);
}

/** True if the mail has a sign of a machine: any but a person's mail program writes it. */
function hasMachineSign(fields: HeaderFields, envelopeFrom?: string): boolean {
  if (envelopeFrom === "" || affirms(fields.first("auto-submitted"))) return true;
  const precedence = fields.first("precedence").toLowerCase();
  return /^junk\b/.test(precedence) || (/^bulk\b/.test(precedence) && !isPost(fields));
}

/** True for a post to a mailing list: RFC 2369 puts the field on posts. */
const isPost = (fields: HeaderFields): boolean => affirms(fields.first("list-post"));

/** Local parts of the addresses under which a list's server writes (RFC 2142, 6; RFC 3834, 3.1.8). */
const serverOfList = /-(?:request|bounces?|owner|confirm)(?:[+=][^@]*)?$/i;

/** True for a notice of a mailing list's server: that a post is held, a subscription confirmed, a command carried out. */
function isListServer(fields: HeaderFields): boolean {
  if (fields.count("list-id") === 0 || isPost(fields)) return false;
  const address = readAddresses(fields.first("from").slice(0, 2_000))[0]?.address ?? "";
  return serverOfList.test(address.slice(0, address.lastIndexOf("@")));
}

/** True if X-Loop names the sender, as autoresponders write it to know their own mail again. */
function isLoopOfSender(fields: HeaderFields): boolean {
  const loop = fields.first("x-loop").trim().toLowerCase();
  if (loop === "") return false;
  const address = readAddresses(fields.first("from").slice(0, 2_000))[0]?.address.toLowerCase();
  return address !== undefined && loop.split(/[\s<>,]+/).includes(address);
}

/** True for Exchange versions without Auto-Submitted, or with that field removed: no person's mail has all three signs. */
function isExchangeReply(fields: HeaderFields): boolean {
  if (!affirms(fields.first("x-auto-response-suppress")) || fields.first("in-reply-to") === "") return false;
  return hasAutomaticSubject(fields);
}

function hasAutomaticSubject(fields: HeaderFields): boolean {
  const subject = decodeWords(fields.first("subject").slice(0, 2_000)).normalize("NFC").toLowerCase();
  return automaticSubjects.some((words) => subject.startsWith(words) && /^\s?[:：]/.test(subject.slice(words.length)));
}

/** Maximum number of bytes of a mail's parts that are searched for a calendar's answer to an invitation. */
const maxLookedThrough = 64 * 1024;
const replyMethod = /\bmethod\s{0,5}=\s{0,5}"?reply\b/i;
const calendarField = /^content-type:[ \t]{0,5}text\/calendar\b(?:[^\r\n]|\r?\n[ \t]){0,500}/gim;

function isCalendarReply(fields: HeaderFields): boolean {
  const type = fields.first("content-type");
  if (/^text\/calendar\b/i.test(type)) return replyMethod.test(type);
  const start = fields.body.subarray(0, maxLookedThrough);
  if (!/^multipart\//i.test(type) || !start.includes("calendar")) return false;
  return [...start.toString("latin1").matchAll(calendarField)].some(([field]) => replyMethod.test(field));
}
