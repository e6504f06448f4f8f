import { expect } from "chai";

/** A message as `GET /v1/threads/{id}/messages` shows it. */
export type Message = Record<string, any>;
type Expectation = (message: Message) => void;

/** Expects that the fields equal these after trimming. */
const has =
  (fields: Record<string, string>): Expectation =>
  (message) => {
    for (const [field, value] of Object.entries(fields)) expect(String(message[field]).trim(), field).to.equal(value);
  };
const contains =
  (field: "body_text" | "extracted_text") =>
  (...texts: string[]): Expectation =>
  (message) => {
    for (const text of texts) expect(message[field]).to.include(text);
  };
const says = contains("body_text");
const ownSays = contains("extracted_text");
const body = (text: string): Expectation => has({ body_text: text });
const own = (text: string): Expectation => has({ extracted_text: text });
const sender = (address: string): Expectation => has({ from_email: address });
const kind = (classification: string): Expectation => has({ classification });
const all =
  (...expectations: Expectation[]): Expectation =>
  (message) => {
    for (const expectation of expectations) expectation(message);
  };
const files = (key: string, values: string[]): Expectation => {
  return ({ attachments }) => expect(attachments.map((file: Message) => file[key])).to.deep.equal(values);
};
const without =
  (pattern: RegExp): Expectation =>
  ({ body_text }) =>
    expect(body_text).to.not.match(pattern);
const notes =
  (words: string): Expectation =>
  (message) =>
    expect(message.notes.join()).to.include(words);
const allIsOwn: Expectation = (message) => own(message.body_text.trim())(message);
const each = (names: string[], expectation: Expectation): Record<string, Expectation> =>
  Object.fromEntries(names.map((name) => [name, expectation]));

/** The right values of the message that each of these files becomes, each sent to a new identity. */
export const caseExpectations: Record<string, Expectation> = {
  "04D-html-meta-charset-win1251": body("Где мой заказ"),
  "04F-subject-encoded-words-of-odd-charsets": has({ subject: "①番の件GrößeétéNoël注文" }),
  "04a-charset-cp932": body("お世話になっております。①番の件です。"),
  "04b-charset-iso-2022-jp-ms": body("ご連絡ありがとうございます。"),
  "04c-charset-cp850": body("Größe geändert, für die Straße prüfen"),
  "04k-charset-x-unknown": body("Où est ma commande – merci"),
  "04p-charset-iso-2022-jp": body("ご連絡ありがとうございます。"),
  "04r-charset-gb2312": body("朱镕基路的仓库 – 喆"),
  "07-html-mail-with-plain-mail-attached": all(
    body("Please look at the attached complaint."),
    files("content_type", ["message/rfc822"]),
  ),
  "09a-outlook-invite-empty-body": all(
    says("Call about the contract", "2026-12-01 14:00", "Room 5"),
    files("filename", ["invite.ics"]),
  ),
  "10a-base64-padded-per-line": body("Order number 4711\nwas never delivered to me.\nPlease refund."),
  "10b-base64-plain-footer": all(
    says("Please cancel order 5, thank you.", "https://lists.example/team"),
    without(/[^\P{Cc}\n]|\ufffd/u),
  ),
  "10c-base64-with-trailing-space-name": body("Please cancel order 5."),
  "11a-flowed-qp-signature": all(says("> > an older word that  goes on"), without(/that {2}> >/)),
  "11b-flowed-delsp-jp": body("この文は長いので途中で折り返されています。\n次の行です。"),
  "11c-flowed-answer-below-quote": all(ownSays("No, do not cancel it."), ({ body_text }) =>
    expect(body_text.split("\n")).to.include("No, do not cancel it."),
  ),
  "12-outlook-downlevel-revealed": all(says("bitte stornieren Sie Auftrag 5."), without(/mso|behavior|if !/)),
  "13-rfc2231-names": files("filename", [
    ...["schnee-☃.txt", "café-crème.txt", "a b-100%25-off.pdf", "abcdefghijkl"],
    ...["Rechnung für März 2026 – Kopie.pdf", "Größe.pdf", "Offer 2026 final.pdf", "schön.txt"],
  ]),
  "14a-from-unquoted-comma": has({ from_email: "anna@customer.example", from_name: "Reinhardt, Anna" }),
  "14c-from-quoted-local": sender('"odd user"@customer.example'),
  "14f-from-idn-utf8": sender("ada@bücher.example"),
  "14l-from-name-is-address": sender("mallory@evil.example"),
  "14m-from-two-dots": sender("yui..tanaka@mobile.example"),
  "14p-from-quoted-plain-local": sender("ada@customer.example"),
  "15a-smime-opaque-signed": says("Please cancel order 5."),
  "15c-pgp-mime-encrypted": all(notes("encrypted"), ({ attachments }) =>
    expect(attachments.map(({ filename }: Message) => filename)).to.include("encrypted.asc"),
  ),
  "15d-smime-clear-signed": body("Please cancel order 5."),
  ...each(
    [
      ...["cs", "de", "en", "ja", "sv"].map((language) => `16-${language}-outlook-header`),
      ...["dewrap", "en", "enwrap", "fr", "ja", "ru"].map((language) => `17-${language}-gmail-attribution`),
    ],
    own("PLEASE-CANCEL-IT"),
  ),
  "18a-own-rules-of-dashes": ownSays("Kim Reed", "Full address: 5 High Street"),
  ...each(["18b-line-begins-with-a-dash", "18c-own-lines-like-a-header"], allIsOwn),
  "18d-own-words-on-such-a-day-you-wrote": ownSays("It did not.", "Please refund me."),
  "18h-bottom-posted": own("Yes, please cancel."),
  "18i-answers-between": ownSays("Blue.", "Forty."),
  "18j-original-message-answer-below": ownSays("Yes, please cancel."),
  "18k-underscores-of-a-form": ownSays("Wish: cancel order 4711"),
  "18p-card-number-below-a-name": allIsOwn,
  "18q-gmail-html-alone": own("Please cancel."),
  ...each(["19-de-out-of-office-without-header", "19-en-out-of-office-without-header"], kind("auto_reply")),
  ...each(
    ["19o-x-autoreply-no-alone", "19w-precedence-first-class", "19z-person-with-suppress-header"],
    kind("person"),
  ),
  ...each(["20b-bulleted-with-stars", "20g-on-it-i-wrote", "20k-von-own-line"], allIsOwn),
  "20d-spanish-own": ownSays("devuélvanme el dinero"),
  "20h-sent-from-my-heart": ownSays("pay it back to me by Friday"),
  "20o-ps-after-regards": ownSays("PS: cancel order 4712"),
  "20p-trip-with-codes-in-brackets": ownSays("no more than 200 euros"),
  ...each(["23a-empty-plain-part-full-html", "23c-plain-part-says-use-html"], says("Please cancel order 5.")),
  "23d-plain-body-marked-attachment": body("Please cancel order 5."),
  "23m-html-only-with-preheader": all(body("Please cancel order 5."), notes("SECRET PREHEADER")),
  "24-mailto": sender("ada@customer.example"),
};
