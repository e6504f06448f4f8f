import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { freePort } from "../../scripts/support/freePort.ts";
import { type Mailer, openMailer } from "./in/smtpSender.ts";

const folder = fileURLToPath(new URL("../../../shared/mail/cases/", import.meta.url));

/** A message as `GET /v1/threads/{id}/messages` shows it. */
type Message = Record<string, any>;
type Right = (message: Message) => void;

const body =
  (text: string): Right =>
  ({ body_text }) =>
    expect(body_text.trim()).to.equal(text);
const says =
  (...texts: string[]): Right =>
  ({ body_text }) => {
    for (const text of texts) expect(body_text).to.include(text);
  };
const own =
  (text: string): Right =>
  ({ extracted_text }) =>
    expect(extracted_text.trim()).to.equal(text);
const ownSays =
  (...texts: string[]): Right =>
  ({ extracted_text }) => {
    for (const text of texts) expect(extracted_text).to.include(text);
  };
const allIsOwn: Right = ({ extracted_text, body_text }) => expect(extracted_text.trim()).to.equal(body_text.trim());
const cancelled = own("PLEASE-CANCEL-IT");

const cases: Record<string, Right> = {
  "07-html-mail-with-plain-mail-attached": (message) => {
    body("Please look at the attached complaint.")(message);
    expect(message.attachments.map((file: Message) => file.content_type)).to.deep.equal(["message/rfc822"]);
  },
  "09a-outlook-invite-empty-body": (message) => {
    says("Call about the contract", "2026-12-01 14:00", "Room 5")(message);
    expect(message.attachments.map(({ filename }: Message) => filename)).to.deep.equal(["invite.ics"]);
  },
  "11a-flowed-qp-signature": (message) => {
    says("> > an older word that  goes on")(message);
    expect(message.body_text).to.not.include("that  > >");
  },
  "11b-flowed-delsp-jp": body("この文は長いので途中で折り返されています。\n次の行です。"),
  "11c-flowed-answer-below-quote": (message) => {
    expect(message.body_text.split("\n")).to.include("No, do not cancel it.");
    ownSays("No, do not cancel it.")(message);
  },
  "12-outlook-downlevel-revealed": (message) => {
    says("bitte stornieren Sie Auftrag 5.")(message);
    expect(message.body_text).to.not.match(/mso|behavior|if !/);
  },
  "15a-smime-opaque-signed": says("Please cancel order 5."),
  "15c-pgp-mime-encrypted": ({ notes, attachments }) => {
    expect(notes.join()).to.include("encrypted");
    expect(attachments.map(({ filename }: Message) => filename)).to.include("encrypted.asc");
  },
  "15d-smime-clear-signed": body("Please cancel order 5."),
  ...Object.fromEntries(["cs", "de", "en", "ja", "sv"].map((language) => [`16-${language}-outlook-header`, cancelled])),
  ...Object.fromEntries(
    ["dewrap", "en", "enwrap", "fr", "ja", "ru"].map((language) => [`17-${language}-gmail-attribution`, cancelled]),
  ),
  "18a-own-rules-of-dashes": ownSays("Kim Reed", "Full address: 5 High Street"),
  "18b-line-begins-with-a-dash": allIsOwn,
  "18c-own-lines-like-a-header": allIsOwn,
  "18d-own-words-on-such-a-day-you-wrote": ownSays("It did not.", "Please refund me."),
  "18h-bottom-posted": own("Yes, please cancel."),
  "18i-answers-between": ownSays("Blue.", "Forty."),
  "18j-original-message-answer-below": ownSays("Yes, please cancel."),
  "18k-underscores-of-a-form": ownSays("Wish: cancel order 4711"),
  "18p-card-number-below-a-name": allIsOwn,
  "18q-gmail-html-alone": own("Please cancel."),
  "20b-bulleted-with-stars": allIsOwn,
  "20d-spanish-own": ownSays("devuélvanme el dinero"),
  "20g-on-it-i-wrote": allIsOwn,
  "20h-sent-from-my-heart": ownSays("pay it back to me by Friday"),
  "20k-von-own-line": allIsOwn,
  "20o-ps-after-regards": ownSays("PS: cancel order 4712"),
  "20p-trip-with-codes-in-brackets": ownSays("no more than 200 euros"),
  "23a-empty-plain-part-full-html": says("Please cancel order 5."),
  "23c-plain-part-says-use-html": says("Please cancel order 5."),
  "23d-plain-body-marked-attachment": body("Please cancel order 5."),
  "23m-html-only-with-preheader": (message) => {
    body("Please cancel order 5.")(message);
    expect(message.notes.join()).to.include("SECRET PREHEADER");
  },
};

if (existsSync(folder))
  describe("the words of mail that went wrong somewhere, over SMTP", () => {
    let service: InProcess;
    let workspace: Workspace;
    let mailer: Mailer;
    const received = new Map<string, Message>();

    before(async () => {
      service = await startInProcess({ SMTP_IN_PORT: String(await freePort()) });
      workspace = await service.workspace();
      const condition = { field: "message.body_text", op: "contains", value: "cancel order 5" };
      const conditions = { operator: "AND", conditions: [condition] };
      const actions = [{ type: "set_priority", priority: "high" }];
      const rule = { name: "Cancelled", trigger_event: "email.received", conditions, actions };
      expect((await workspace.ask("POST /v1/rules", { json: rule })).status).to.equal(200);
      mailer = await openMailer(service.smtpPort!);
      const identities: [string, string][] = [];
      for (const file of Object.keys(cases)) {
        const { id, address } = await service.identity(workspace.id);
        identities.push([file, id]);
        const raw = readFileSync(`${folder}${file}.eml`, "latin1").replace(/\r?\n/g, "\r\n");
        await mailer.send(Buffer.from(raw, "latin1"), address, "ada@customer.example");
      }
      await service.filed();
      for (const [file, id] of identities) {
        const [thread] = (await workspace.ask(`GET /v1/threads?identity_id=${id}`)).json.data;
        received.set(file, (await workspace.ask(`GET /v1/threads/${thread.id}/messages`)).json.data[0]);
      }
    });
    after(async () => {
      mailer?.close();
      await service?.stop();
    });

    for (const [file, right] of Object.entries(cases)) {
      it(`${file} is read as it was meant`, () => right(received.get(file)!));
    }

    const threadOf = (file: string): string => received.get(file)!.thread_id;

    it("is what rules read, where it was in the HTML alone", async () => {
      const priorityOf = async (file: string) =>
        (await workspace.ask(`GET /v1/threads/${threadOf(file)}`)).json.priority;
      for (const file of ["23a-empty-plain-part-full-html", "23c-plain-part-says-use-html"]) {
        await until(async () => (await priorityOf(file)) === "high");
      }
      expect(await priorityOf("18h-bottom-posted")).to.equal("normal");
    });

    for (const [q, file] of [
      ["cancel order 5", "23a-empty-plain-part-full-html"],
      ["call about the contract", "09a-outlook-invite-empty-body"],
    ] as const) {
      it(`is what a search finds: ${file}`, async () => {
        const { json } = await workspace.ask(`GET /v1/threads?limit=100&q=${encodeURIComponent(q)}`);
        expect(json.data.map(({ id }: Message) => id)).to.include(threadOf(file));
      });
    }
  });
