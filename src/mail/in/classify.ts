import type { Classification } from "#streams/inbox/events.ts";
import { reportsFailure, reportType } from "./bounces.ts";
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
  "x-auto-reply",
  "x-auto-response-suppress",
  "x-autoreply",
  "x-autorespond",
  "x-autoresponder",
  "x-failed-recipients",
  "x-ms-exchange-message-is-ndr",
];

const automaticFields = ["x-autoreply", "x-auto-reply", "x-autorespond", "x-autoresponder"];
const listFields = ["list-id", "list-post", "list-unsubscribe", "list-help"];

const failureSubject =
  /undeliver|delivery (?:status|failure|report|problem|error|has failed)|failure notice|returned mail|mail delivery|non[- ]?remis|unzustellbar|could not be delivered|delivery to the following/i;

/** Beginnings of the subjects of Exchange's automatic replies, by language. */
const exchangeSubjects = [
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

/**
 * Classifies the author: a person, an automatic reply, a bounce, or a mailing list (which counts like a person). X-Auto-Response-Suppress
 * alone is no sign: people's clients send it too. A postmaster's address is no sign either, because postmasters write mail too.
 */
export function classify(fields: HeaderFields, envelopeFrom?: string): Classification {
  const report = reportType(fields);
  if (report === "other") return "auto_reply";
  // Daemons report a mere delay too, and not all of them in the form of a report.
  const isReport = report === "delivery" || fields.count("x-ms-exchange-message-is-ndr") > 0;
  if (isReport || fields.count("x-failed-recipients") > 0 || isDaemon(fields, envelopeFrom))
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
  if (["auto-submitted", ...automaticFields].some((name) => affirms(fields.first(name)))) return true;
  if (/^(?:auto_reply|junk)\b/i.test(fields.first("precedence"))) return true;
  return isExchangeReply(fields) || isCalendarReply(fields);
}

/** True for Exchange versions without Auto-Submitted, or with that field removed: no person's mail has all three signs. */
function isExchangeReply(fields: HeaderFields): boolean {
  if (!affirms(fields.first("x-auto-response-suppress")) || fields.first("in-reply-to") === "") return false;
  const subject = decodeWords(fields.first("subject").slice(0, 2_000)).normalize("NFC").toLowerCase();
  return exchangeSubjects.some((words) => subject.startsWith(words) && /^\s?[:：]/.test(subject.slice(words.length)));
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
