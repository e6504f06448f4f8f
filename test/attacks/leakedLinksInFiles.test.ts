import { randomBytes } from "node:crypto";
import { expect } from "chai";
import { isAskedAbout } from "#test/support/approvalMail.ts";
import { asking } from "#test/support/asking.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { encryptedMail, signedMail } from "#test/support/signedMail.ts";
import { zip } from "#test/support/zip.ts";

type Asked = { id: string; token: string; link: string };
/** A thread with one mail of a customer. */
type Conversation = {
  basedOn: { thread_id: string; based_on_message_id: string; identity_id: string };
  inReplyTo: string;
};
type File = { name: string; type: string; bytes: Buffer };

/** An approver's mail program forwards an approval mail, packed into a file, to the agent's address. */
describe("approval links in files sent to the agent", () => {
  let service: InProcess;
  let tenant: Workspace;
  let agent: Workspace["ask"];
  let identity: Identity;
  let first: Conversation;

  before(async () => {
    service = await startInProcess();
    tenant = await service.workspace();
    agent = asking(service.url, await tenant.keyOf(["read:threads", "read:identities", "read:events"]));
    const approvalChannel = { type: "email", config: { to: "boss@example.com" } } as const;
    identity = await service.identity(tenant.id, { approvalChannel });
    first = await conversation();
  });

  after(() => service.stop());

  async function conversation(): Promise<Conversation> {
    await service.deliver(identity.address, mail({ id: `${randomBytes(8).toString("hex")}@customer.example` }));
    const [thread] = (await tenant.ask("GET /v1/threads")).json.data;
    const { messages } = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json;
    const [{ id, rfc_message_id: inReplyTo }] = messages;
    return { basedOn: { thread_id: thread.id, based_on_message_id: id, identity_id: identity.id }, inReplyTo };
  }

  /** Submits a draft that waits for a person, and returns the link to approve it. */
  async function asked({ basedOn } = first): Promise<Asked> {
    const json = { ...basedOn, body_text: `Hello ${randomBytes(6).toString("hex")}` };
    const { id } = (await tenant.ask("POST /v1/drafts", { json })).json;
    let text: string | undefined;
    await until(async () => {
      const sent = await service.outbox.newest(500);
      text = sent.find((each) => isAskedAbout(each.text, json.body_text))?.text;
      return text !== undefined;
    });
    const link = /http\S+\/a\/[\w-]{43}\?d=approve/.exec(text as string)![0];
    return { id, link, token: new URL(link).pathname.slice(3) };
  }

  /** Delivers a mail with this file. Returns its message and the errors for a caller without the right to decide. */
  async function delivered({ name, type, bytes }: File, inReplyTo?: string) {
    const base64 = bytes.toString("base64").replace(/.{76}/g, "$&\r\n");
    const raw = [
      `Message-ID: <${randomBytes(8).toString("hex")}@boss>`,
      ...(inReplyTo === undefined ? [] : [`In-Reply-To: ${inReplyTo}`]),
      "From: boss@example.com",
      "Subject: Fwd",
      "MIME-Version: 1.0",
      'Content-Type: multipart/mixed; boundary="b"',
      "",
      "--b\r\nContent-Type: text/plain\r\n\r\nSee the file.",
      `--b\r\nContent-Type: ${type}; name="${name}"\r\nContent-Disposition: attachment; filename="${name}"`,
      `Content-Transfer-Encoding: base64\r\n\r\n${base64}`,
      "--b--",
    ].join("\r\n");
    await service.deliver(identity.address, raw, { from: "boss@example.com" });
    const [entry] = (await agent("GET /v1/inbound")).json.data;
    const [thread] = (await agent("GET /v1/threads")).json.data;
    const message = (await agent(`GET /v1/threads/${thread.id}`)).json.messages.at(-1);
    expect(message.id).to.equal(entry.message_id);
    const lines = [
      `GET /v1/messages/${message.id}/raw`,
      `GET /v1/inbound/${entry.id}/raw`,
      `GET /v1/messages/${message.id}/attachments/${message.attachments[0].id}`,
    ] as const;
    const refused = await Promise.all(lines.map(async (line) => (await agent(line)).json?.error ?? null));
    const statuses = await Promise.all(lines.map(async (line) => (await tenant.ask(line)).status));
    expect(statuses, "with the right to decide").to.deep.equal([200, 200, 200]);
    return { message, refused };
  }

  const refusedAll = ["insufficient_scope", "insufficient_scope", "insufficient_scope"];
  const files: Record<string, (link: string) => File> = {
    "signed S/MIME": (link) => ({
      ...{ name: "smime.p7m", type: "application/pkcs7-mime; smime-type=signed-data" },
      bytes: signedMail(`Content-Type: text/plain\r\n\r\n${link}`),
    }),
    "winmail.dat": (link) => ({
      ...{ name: "winmail.dat", type: "application/ms-tnef" },
      bytes: Buffer.from(`\x78\x9f\x3e\x22\x01\0\x01\x06\x90\x08\0APPROVE ${link}\r\n\0`, "latin1"),
    }),
    "a .msg file": (link) => ({
      ...{ name: "fwd.msg", type: "application/vnd.ms-outlook" },
      bytes: Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(1_000), Buffer.from(link, "utf16le")]),
    }),
    "a ZIP archive": (link) => ({
      ...{ name: "fwd.zip", type: "application/zip" },
      bytes: zip([{ name: "fwd.txt", content: Buffer.from(`See ${link}`) }]),
    }),
    RTF: (link) => ({
      ...{ name: "approve.rtf", type: "application/rtf" },
      bytes: Buffer.from(`{\\rtf1\\ansi {\\field{\\*\\fldinst HYPERLINK "${link}"}{\\fldrslt APPROVE}}}`),
    }),
    "a vCard": (link) => ({
      ...{ name: "boss.vcf", type: "text/vcard" },
      bytes: Buffer.from(
        `BEGIN:VCARD\r\nNOTE;ENCODING=b:${Buffer.from(`See ${link}`).toString("base64")}\r\nEND:VCARD\r\n`,
      ),
    }),
  };
  for (const [what, file] of Object.entries(files)) {
    it(`an approval link in ${what} is closed, and the file needs the right to decide`, async () => {
      const draft = await asked();
      const { message, refused } = await delivered(file(draft.link));
      expect([message.approval_link_removed, refused]).to.deep.equal([true, refusedAll]);
      expect((await fetch(`${service.url}/a/${draft.token}`)).status).to.equal(410);
      expect(JSON.stringify(message)).not.to.include(draft.token);
    });
  }

  const encrypted: File = { name: "smime.p7m", type: "application/pkcs7-mime", bytes: encryptedMail(randomBytes(300)) };
  const note =
    "A part of the mail cannot be searched for approval links, so its source and its attachments need the scope write:approvals.";

  it("an encrypted file needs the right to decide while an approval link of its thread works", async () => {
    const conversed = await conversation();
    const draft = await asked(conversed);
    const { message, refused } = await delivered(encrypted, conversed.inReplyTo);
    expect([message.thread_id, message.approval_link_removed, refused]).to.deep.equal([
      conversed.basedOn.thread_id,
      false,
      refusedAll,
    ]);
    expect(message.notes).to.include(note);
    expect((await fetch(`${service.url}/a/${draft.token}`)).status).to.equal(200);
  });

  it("an encrypted file of a new thread needs the right to decide while an approval link of its identity works", async () => {
    const draft = await asked(await conversation());
    const { message, refused } = await delivered(encrypted);
    expect([refused, message.notes.includes(note)]).to.deep.equal([refusedAll, true]);
    expect((await fetch(`${service.url}/a/${draft.token}`)).status).to.equal(200);
    const { data } = (await tenant.ask("GET /v1/drafts?status=pending")).json;
    for (const { id } of data) await tenant.ask(`POST /v1/drafts/${id}/reject`, { json: { reason: "no" } });
    expect((await delivered(encrypted)).refused).to.deep.equal([null, null, null]);
  });

  it("an encrypted file is readable if it came before the approval link or no link of its thread works", async () => {
    const conversed = await conversation();
    const early = await delivered(encrypted, conversed.inReplyTo);
    const draft = await asked(conversed);
    expect(early.refused).to.deep.equal([null, null, null]);
    expect((await agent(`GET /v1/messages/${early.message.id}/raw`)).status).to.equal(200);
    await tenant.ask(`POST /v1/drafts/${draft.id}/reject`, { json: { reason: "no" } });
    const late = await delivered(encrypted, conversed.inReplyTo);
    expect([late.refused, late.message.notes.includes(note)]).to.deep.equal([[null, null, null], false]);
  });

  it("a PDF file and a readable archive stay readable without the right to decide", async () => {
    const conversed = await conversation();
    await asked(conversed);
    const pdf = { name: "x.pdf", type: "application/pdf", bytes: Buffer.from("%PDF-1.7\n\0\0") };
    const archive = {
      name: "x.zip",
      type: "application/zip",
      bytes: zip([{ name: "a", content: Buffer.from("hello") }]),
    };
    for (const file of [pdf, archive]) {
      expect((await delivered(file, conversed.inReplyTo)).refused, file.name).to.deep.equal([null, null, null]);
    }
  });
});
