import { execFile } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { type SmtpRelay, startSmtpRelay } from "#test/support/smtpRelay.ts";
import { freePort } from "../../scripts/support/freePort.ts";
import { type Mailer, openMailer } from "./in/smtpSender.ts";

const folder = fileURLToPath(new URL("../../../shared/mail/cases/", import.meta.url));

/** A message as `GET /v1/threads/{id}/messages` shows it. */
type Message = Record<string, any>;
/** Fields that equal these after trimming, or what else is right. */
type Right = Record<string, unknown> | ((message: Message) => void);

/** Each of these goes to an identity that has read nothing before. */
const messages: Record<string, Right> = {
  "04D-html-meta-charset-win1251.eml": { body_text: "Где мой заказ" },
  "04a-charset-cp932.eml": { body_text: "お世話になっております。①番の件です。" },
  "04b-charset-iso-2022-jp-ms.eml": { body_text: "ご連絡ありがとうございます。" },
  "04c-charset-cp850.eml": { body_text: "Größe geändert, für die Straße prüfen" },
  "04k-charset-x-unknown.eml": { body_text: "Où est ma commande – merci" },
  "04p-charset-iso-2022-jp.eml": { body_text: "ご連絡ありがとうございます。" },
  "04r-charset-gb2312.eml": { body_text: "朱镕基路的仓库 – 喆" },
  "10a-base64-padded-per-line.eml": {
    body_text: "Order number 4711\nwas never delivered to me.\nPlease refund.",
  },
  "10b-base64-plain-footer.eml": ({ body_text }) => {
    expect(body_text).to.contain("Please cancel order 5, thank you.").and.contain("https://lists.example/team");
    expect(body_text).to.not.match(/[^\P{Cc}\n]|\ufffd/u);
  },
  "10c-base64-with-trailing-space-name.eml": { body_text: "Please cancel order 5." },
  "13-rfc2231-names.eml": ({ attachments }) =>
    expect(attachments.map(({ filename }: { filename: string }) => filename)).to.deep.equal([
      ...["schnee-☃.txt", "café-crème.txt", "a b-100%25-off.pdf", "abcdefghijkl"],
      ...["Rechnung für März 2026 – Kopie.pdf", "Größe.pdf", "Offer 2026 final.pdf", "schön.txt"],
    ]),
  "04F-subject-encoded-words-of-odd-charsets.eml": { subject: "①番の件GrößeétéNoël注文" },
  "14a-from-unquoted-comma.eml": { from_email: "anna@customer.example", from_name: "Reinhardt, Anna" },
  "14c-from-quoted-local.eml": { from_email: '"odd user"@customer.example' },
  "14f-from-idn-utf8.eml": { from_email: "ada@bücher.example" },
  "14l-from-name-is-address.eml": { from_email: "mallory@evil.example" },
  "14m-from-two-dots.eml": { from_email: "yui..tanaka@mobile.example" },
  "14p-from-quoted-plain-local.eml": { from_email: "ada@customer.example" },
  "19-de-out-of-office-without-header.eml": { classification: "auto_reply" },
  "19-en-out-of-office-without-header.eml": { classification: "auto_reply" },
  "19o-x-autoreply-no-alone.eml": { classification: "person" },
  "19w-precedence-first-class.eml": { classification: "person" },
  "19z-person-with-suppress-header.eml": { classification: "person" },
  "24-mailto.eml": { from_email: "ada@customer.example" },
};

/** To whom a reply to these leaves, in the form of SMTP. */
const replies: Record<string, string> = {
  "14c-from-quoted-local.eml": '"odd user"@customer.example',
  "14f-from-idn-utf8.eml": "ada@xn--bcher-kva.example",
  "14m-from-two-dots.eml": '"yui..tanaka"@mobile.example',
};

if (existsSync(folder))
  describe("mail that went wrong somewhere, over SMTP", () => {
    let service: InProcess;
    let workspace: Workspace;
    let relay: SmtpRelay;
    let mailer: Mailer;
    /** What each identity received, by the case's file. */
    const received = new Map<string, Message[]>();

    const fileOf = (file: string): Buffer => readFileSync(`${folder}${file}`);
    const wire = (raw: Buffer): Buffer => Buffer.from(raw.toString("latin1").replace(/\r?\n/g, "\r\n"), "latin1");

    before(async () => {
      relay = await startSmtpRelay();
      service = await startInProcess({
        SMTP_IN_PORT: String(await freePort()),
        MAIL_PROVIDER: "smtp",
        SMTP_URL: relay.url,
      });
      workspace = await service.workspace();
      mailer = await openMailer(service.smtpPort!);
      const identities = new Map<string, string>();
      for (const file of Object.keys(messages)) {
        const { id, address } = await service.identity(workspace.id);
        identities.set(file, id);
        expect(await mailer.send(wire(fileOf(file)), address, "ada@customer.example"), file).to.match(/^250/);
      }
      for (const [file, id] of identities) received.set(file, await messagesOf(id));
    });
    after(async () => {
      mailer?.close();
      await service?.stop();
      await relay?.close();
    });

    async function messagesOf(identityId: string): Promise<Message[]> {
      const threads = (await workspace.ask(`GET /v1/threads?identity_id=${identityId}&limit=100`)).json.data;
      const pages = await Promise.all(
        threads.map(({ id }: { id: string }) => workspace.ask(`GET /v1/threads/${id}/messages`)),
      );
      return pages.flatMap(({ json }) => json.data);
    }

    for (const [file, right] of Object.entries(messages))
      it(`${file} is read as it was meant`, () => {
        const [message] = received.get(file)!;
        if (typeof right === "function") return right(message!);
        for (const [field, value] of Object.entries(right))
          expect(String(message![field]).trim(), field).to.equal(value);
      });

    for (const [file, recipient] of Object.entries(replies))
      it(`${file} is answered at ${recipient}`, async () => {
        const [message] = received.get(file)!;
        const answer = await workspace.ask("POST /v1/emails/reply", {
          json: { thread_id: message!.thread_id, body_text: `Answer to ${file}` },
          headers: { "Idempotency-Key": file },
        });
        expect(answer.status, answer.text).to.be.oneOf([200, 201, 202]);
        const sent = await mailWith(`Answer to ${file}`);
        expect(sent.to).to.deep.equal([recipient]);
      });

    const base64Lines = (text: string): string =>
      `${Buffer.from(text).toString("base64").replace(/.{76}/g, "$&\r\n")}\r\n`;

    async function mailWith(words: string) {
      for (let n = 0; n < 400; n++) {
        const found = relay.mails.find(({ content }) => content.includes(words));
        if (found) return found;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error(`no mail says ${words}`);
    }

    it("22-*-report.eml join the mail they speak of, and say what became of it", async () => {
      const reports = { "22-arf": "complained", "22-base64report": "bounced", "22-m365": "bounced" };
      const { address, id } = await service.identity(workspace.id, { canSendCold: true });
      for (const [name, status] of Object.entries(reports)) {
        const json = { identity_id: id, to: ["gone@customer.example"], subject: name, body_text: `Offer of ${name}` };
        const sent = await workspace.ask("POST /v1/emails/send", { json });
        const { content } = await mailWith(`Offer of ${name}`);
        const ourId = readHeaders(content).messageId.slice(1, -1);
        const written = wire(fileOf(`${name}-report.eml`)).toString("latin1");
        const raw = written
          .replaceAll("MESSAGE-ID-OF-OUR-MAIL@agents.localhost", ourId)
          .replace(/^RnJvbTog[A-Za-z0-9+/=\r\n]+/m, (lines) =>
            base64Lines(
              Buffer.from(lines, "base64")
                .toString()
                .replace(/Message-ID: <.*>/, `Message-ID: <${ourId}>`),
            ),
          );
        expect(await mailer.send(Buffer.from(raw, "latin1"), address, "")).to.match(/^250/);
        await service.filed();
        await until(async () => {
          const { data } = (await workspace.ask(`GET /v1/threads/${sent.json.thread_id}/messages`)).json;
          return data.length === 2 && data[0].delivery_status === status;
        });
      }
    });

    it("05-references-null.eml are conversations by themselves", async () => {
      for (const pair of ["ab", "cd"]) {
        const { id, address } = await service.identity(workspace.id);
        for (const letter of pair) {
          const [file] = readdirSync(folder).filter((name) => name.startsWith(`05${letter}`));
          expect(await mailer.send(wire(fileOf(file!)), address, "ada@customer.example")).to.match(/^250/);
        }
        await service.filed();
        const threads = (await workspace.ask(`GET /v1/threads?identity_id=${id}`)).json.data;
        expect(threads.map(({ message_count }: Message) => message_count)).to.deep.equal([1, 1]);
      }
    });

    it("25-smtp-senders.sh is told 250 for every line", async () => {
      const { address } = await service.identity(workspace.id);
      const script = `${folder}25-smtp-senders.sh`;
      const { stdout } = await promisify(execFile)("bash", [script, String(service.smtpPort), address]);
      const answers = stdout.trim().split("\n");
      expect(answers).to.have.length(9);
      for (const answer of answers) expect(answer).to.match(/ -> 250/);
    });
  });
