import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { asking } from "#test/support/asking.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { type SmtpRelay, startSmtpRelay, textOf } from "#test/support/smtpRelay.ts";
import { freePort } from "../../scripts/support/freePort.ts";
import { caseExpectations, type Message } from "./caseExpectations.ts";
import { type Mailer, openMailer } from "./in/smtpSender.ts";

const folder = fileURLToPath(new URL("../../../shared/mail/cases/", import.meta.url));
const customer = "ada@customer.example";

/** Returns the text of a file with CRLF line ends. */
const textOfCase = (name: string): string => readFileSync(`${folder}${name}.eml`, "latin1").replace(/\r?\n/g, "\r\n");

/** Changes the text of a mail, and that of its parts in base64. */
const changed = (raw: string, change: (text: string) => string): string =>
  change(raw).replace(/(?<=: base64\r\n\r\n)[A-Za-z0-9+/=\r\n]+/g, (lines) => {
    const text = change(Buffer.from(lines, "base64").toString("latin1"));
    return `${Buffer.from(text, "latin1").toString("base64").replace(/.{76}/g, "$&\r\n")}\r\n`;
  });

if (existsSync(folder))
  describe("mail that was once read wrongly, over SMTP", () => {
    let service: InProcess;
    let workspace: Workspace;
    let relay: SmtpRelay;
    let mailer: Mailer;
    const received = new Map<string, Message>();

    before(async () => {
      relay = await startSmtpRelay();
      service = await startInProcess({
        SMTP_IN_PORT: String(await freePort()),
        MAIL_PROVIDER: "smtp",
        SMTP_URL: relay.url,
      });
      workspace = await service.workspace();
      const condition = { field: "message.body_text", op: "contains", value: "cancel order 5" };
      const conditions = { operator: "AND", conditions: [condition] };
      const actions = [{ type: "set_priority", priority: "high" }];
      const rule = { name: "Cancelled", trigger_event: "email.received", conditions, actions };
      expect((await workspace.ask("POST /v1/rules", { json: rule })).status).to.equal(200);
      mailer = await openMailer(service.smtpPort!);
      const identities = new Map<string, string>();
      for (const name of Object.keys(caseExpectations)) {
        const { id, address } = await service.identity(workspace.id);
        identities.set(name, id);
        await send(textOfCase(name), address);
      }
      await service.filed();
      for (const [name, id] of identities) {
        const [message] = await messagesOf(id);
        if (message !== undefined) received.set(name, message);
      }
    });
    after(async () => {
      mailer?.close();
      await service?.stop();
      await relay?.close();
    });

    async function send(raw: string, to: string, from = customer): Promise<void> {
      expect(await mailer.send(Buffer.from(raw, "latin1"), to, from)).to.match(/^250/);
    }

    const threadsOf = async (identityId: string): Promise<Message[]> =>
      (await workspace.ask(`GET /v1/threads?identity_id=${identityId}&limit=100`)).json.data;
    const messagesOfThread = async (id: string): Promise<Message[]> =>
      (await workspace.ask(`GET /v1/threads/${id}/messages`)).json.data;
    const messagesOf = async (identityId: string): Promise<Message[]> =>
      (await Promise.all((await threadsOf(identityId)).map(({ id }) => messagesOfThread(id)))).flat();

    async function mailWith(words: string) {
      const found = () => relay.mails.find((each) => textOf(each).includes(words));
      await until(async () => found() !== undefined);
      return found()!;
    }

    /** Replies to a message, and returns the reply as it was handed over. */
    async function replyTo(message: Message, options = {}) {
      const words = `Answer ${randomUUID()}`;
      const json = { thread_id: message.thread_id, body_text: words, ...options };
      const answer = await workspace.ask("POST /v1/emails/reply", { json });
      expect(answer.status, answer.text).to.be.oneOf([200, 201, 202]);
      return mailWith(words);
    }

    for (const [name, isRight] of Object.entries(caseExpectations)) {
      it(`the mail ${name} is shown with the right content`, () => isRight(received.get(name)!));
    }

    for (const [name, recipient] of Object.entries({
      "14c-from-quoted-local": '"odd user"@customer.example',
      "14f-from-idn-utf8": "ada@xn--bcher-kva.example",
      "14m-from-two-dots": '"yui..tanaka"@mobile.example',
    })) {
      it(`the sender of ${name} is answered at ${recipient}`, async () => {
        expect((await replyTo(received.get(name)!)).to).to.deep.equal([recipient]);
      });
    }

    it("a rule matches words that a mail has only in its HTML", async () => {
      const priorityOf = async (name: string) =>
        (await workspace.ask(`GET /v1/threads/${received.get(name)!.thread_id}`)).json.priority;
      for (const name of ["23a-empty-plain-part-full-html", "23c-plain-part-says-use-html"]) {
        await until(async () => (await priorityOf(name)) === "high");
      }
      expect(await priorityOf("18h-bottom-posted")).to.equal("normal");
    });

    for (const [q, name] of [
      ["cancel order 5", "23a-empty-plain-part-full-html"],
      ["call about the contract", "09a-outlook-invite-empty-body"],
    ] as const) {
      it(`a search for ${q} finds the thread of ${name}`, async () => {
        const { json } = await workspace.ask(`GET /v1/threads?limit=100&q=${encodeURIComponent(q)}`);
        expect(json.data.map(({ id }: Message) => id)).to.include(received.get(name)!.thread_id);
      });
    }

    for (const pair of [
      ["05a-references-null", "05b-references-null"],
      ["05c-references-bracket-null", "05d-references-bracket-null"],
    ]) {
      it(`the mails ${pair.join(" and ")} open two threads`, async () => {
        const { id, address } = await service.identity(workspace.id);
        for (const name of pair) await send(textOfCase(name), address);
        await service.filed();
        expect((await threadsOf(id)).map(({ message_count }) => message_count)).to.deep.equal([1, 1]);
      });
    }

    for (const name of ["plain", "rtf", "smime_opaque", "tnef"]) {
      it(`the approval link in 21-${name}-approval-link is closed, and its raw form needs the right to decide`, async () => {
        const approvalChannel = { type: "email", config: { to: "boss@approver.example" } } as const;
        const { id, address } = await service.identity(workspace.id, { approvalChannel });
        const words = `Question ${randomUUID()}`;
        await send(`Message-ID: <${randomUUID()}@customer.example>\r\nFrom: ${customer}\r\n\r\nWhere is it?`, address);
        await service.filed();
        const [question] = await messagesOf(id);
        const about = { thread_id: question!.thread_id, identity_id: id, based_on_message_id: question!.id };
        const draft = await workspace.ask("POST /v1/drafts", { json: { ...about, body_text: words } });
        expect(draft.status, draft.text).to.equal(201);
        const [, token] = /\/a\/([\w-]{43})/.exec(textOf(await mailWith(words)))!;
        const page = async () => (await fetch(`${service.url}/a/${token}`)).status;
        expect(await page()).to.equal(200);

        const live = (text: string) => text.replace(/(?<=\/\/localhost:8290\/a\/)[\w-]{43}/, token!);
        await send(changed(textOfCase(`21-${name}-approval-link`), live), address);
        await service.filed();
        const message = (await messagesOf(id)).find(({ from_email }) => from_email === "boss@approver.example")!;
        expect([await page(), message.approval_link_removed]).to.deep.equal([410, true]);
        expect(JSON.stringify(message)).to.not.include(token);
        const agent = asking(service.url, await workspace.keyOf(["read:threads", "read:events"]));
        const lines = [
          `GET /v1/messages/${message.id}/raw`,
          ...message.attachments.map((file: Message) => `GET /v1/messages/${message.id}/attachments/${file.id}`),
        ];
        expect(lines).to.have.length(name === "plain" ? 1 : 2);
        for (const line of lines) {
          expect([(await agent(line)).status, (await workspace.ask(line)).status], line).to.deep.equal([401, 200]);
        }
      });
    }

    for (const [name, status] of Object.entries({
      "22-arf-report": "complained",
      "22-base64report-report": "bounced",
      "22-m365-report": "bounced",
    })) {
      it(`the report ${name} joins the thread of its mail, which becomes ${status}`, async () => {
        const { address, id } = await service.identity(workspace.id, { canSendCold: true });
        const words = `Offer ${randomUUID()}`;
        const json = { identity_id: id, to: ["gone@customer.example"], subject: "Offer", body_text: words };
        const sent = await workspace.ask("POST /v1/emails/send", { json });
        const { messageId } = readHeaders((await mailWith(words)).content);
        const about = (text: string) => text.replace(/<[\w-]+@agents\.localhost>/g, messageId);
        await send(changed(textOfCase(name), about), address, "");
        await service.filed();
        await until(async () => {
          const messages = await messagesOfThread(sent.json.thread_id);
          return messages.length === 2 && messages[0]!.delivery_status === status;
        });
      });
    }

    it("a reply to all of 24-plustag goes to the other people and to no address of the identity", async () => {
      const { id, address } = await service.identity(workspace.id, { localPart: "plus" });
      const [localPart, domain] = address.split("@") as [string, string];
      const raw = textOfCase("24-plustag")
        .replace("plus+billing@agents.localhost", `${localPart}+billing@${domain}`)
        .replace("PLUS@Agents.localhost", `${localPart.toUpperCase()}@${domain}`);
      await send(raw, address);
      await service.filed();
      const [message] = await messagesOf(id);
      const { to, content } = await replyTo(message!, { reply_all: true });
      const people = [customer, "ben@customer.example"];
      expect(to).to.have.members(people);
      const header = content.toString().split("\r\n\r\n")[0]!;
      expect(["To", "Cc"].map((field) => new RegExp(`^${field}: (.*)$`, "m").exec(header)?.[1])).to.deep.equal(people);
    });

    it("every line of 25-smtp-senders.sh is answered with 250", async () => {
      const { address } = await service.identity(workspace.id);
      const script = `${folder}25-smtp-senders.sh`;
      const { stdout } = await promisify(execFile)("bash", [script, String(service.smtpPort), address]);
      const answers = stdout.trim().split("\n");
      expect(answers).to.have.length(9);
      for (const answer of answers) expect(answer).to.match(/ -> 250/);
    });
  });
