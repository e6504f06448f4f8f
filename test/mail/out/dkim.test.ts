import { createHash } from "node:crypto";
import { expect } from "chai";
import { dkimVerify } from "mailauth";
import { signMail } from "#src/mail/out/dkim.ts";
import { newDkimKeys } from "#src/mail/out/dkimKeys.ts";
import { renderMail, renderNotice } from "#src/mail/out/render.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { draftContent } from "#test/support/draftContent.ts";

const messageId = "<local@ours.example>";
const date = new Date("2026-11-21T10:00:00Z");
const bytes = Buffer.alloc(300_000, 0xe9);
const sha256 = createHash("sha256").update(bytes).digest("hex");

/** Signed mails, checked by another library's verifier. */
describe("the DKIM signature of sent mail", () => {
  let keys: Awaited<ReturnType<typeof newDkimKeys>>;
  before(async () => {
    keys = await newDkimKeys();
  });

  const sign = (mime: Buffer) =>
    signMail(mime, { domain: "ours.example", selector: "s1", privateKey: keys.privateKey });
  const render = async (different: Partial<DraftContent>) =>
    (await renderMail({ content: draftContent(different), messageId, date, attachments: new Map([[sha256, bytes]]) }))
      .mime;

  async function verified(mime: Buffer): Promise<{ result: string; signed: string[] }> {
    const resolver = async (name: string) => {
      expect(name).to.equal("s1._domainkey.ours.example");
      return [[`v=DKIM1; k=rsa; p=${keys.publicKey}`]];
    };
    const { results } = (await dkimVerify(mime, { resolver, sender: "agent@ours.example" } as never)) as any;
    expect(results).to.have.length(1);
    const [{ status, signingHeaders }] = results;
    return { result: status.result, signed: signingHeaders.keys.toLowerCase().split(/:\s*/) };
  }

  /** Folds the header at every blank, as a relay may. */
  const folded = (mime: Buffer): Buffer =>
    header(mime, (text) => text.replace(/(?<=[^\r\n:]) (?=[^\r\n ])/g, "\r\n\t"));
  const unfolded = (mime: Buffer): Buffer => header(mime, (text) => text.replace(/\r\n[ \t]+/g, " "));
  function header(mime: Buffer, change: (text: string) => string): Buffer {
    const end = mime.indexOf("\r\n\r\n");
    return Buffer.concat([Buffer.from(change(mime.toString("latin1", 0, end)), "latin1"), mime.subarray(end)]);
  }

  const line = "Größe, 大きさ, мера 👍 ";
  const contents: Record<string, Partial<DraftContent>> = {
    "a plain letter": {},
    "a subject and names in other scripts": {
      subject: `Re: ${line.repeat(12)}`,
      from: { name: "Zoë „Z“ O’Neil 大きさ", address: "zoe@ours.example" },
    },
    "bodies in other scripts": { body_text: line.repeat(50), body_html: `<p>${line.repeat(50)}</p>` },
    "a body of two megabytes": { body_text: `${"x".repeat(120)}\n`.repeat(17_000) },
    "a line of a hundred kilobytes": { body_text: "x".repeat(100_000) },
    "lines that end in blanks, lines of one dot, From lines, empty lines at the end": {
      body_text: "ends in blanks   \n\t\n.\n..\nFrom here on\n\n\n\n",
    },
    "an empty body": { body_text: "" },
    "fifty long References": {
      references: Array.from({ length: 50 }, (_, n) => `<${n}.${"r".repeat(200)}@customer.example>`),
    },
    "a Message-ID of another that no line can hold": { references: [`<${"r".repeat(600)}@x>`, "<b@x>"] },
    "twenty recipients in copy": {
      cc: Array.from({ length: 20 }, (_, n) => `somebody-with-a-long-name-${n}@customer.example`),
    },
    attachments: {
      attachments: [{ filename: "Rechnung für Zoë 👍.bin", content_type: "application/octet-stream", sha256 }],
    },
  };
  for (const [what, different] of Object.entries(contents)) {
    it(`the DKIM signature verifies, with its header folded or unfolded: ${what}`, async () => {
      const mail = await sign(await render(different));
      for (const [how, came] of Object.entries({ "as it left": mail, folded: folded(mail), unfolded: unfolded(mail) }))
        expect((await verified(came)).result, how).to.equal("pass");
    });
  }

  it("the DKIM signature of the service's own mail verifies", async () => {
    const { mime } = await renderNotice({
      from: { name: "Approvals", address: "approvals@ours.example" },
      ...{ to: "boss@ours.example", subject: `Approve? ${line}`, text: line, html: `<p>${line}</p>`, messageId, date },
    });
    expect((await verified(await sign(mime))).result).to.equal("pass");
  });

  it("the DKIM signature covers all fields a reader sees, and fails after a change of body or field", async () => {
    const mail = await sign(await render({ cc: ["bob@customer.example"], reply_to: "desk@ours.example" }));
    const { signed } = await verified(mail);
    const covered = ["from", "to", "cc", "reply-to", "subject", "date", "message-id", "in-reply-to", "references"];
    expect(signed).to.include.members([...covered, "mime-version", "content-type"]);
    const changes: [from: string, to: string][] = [
      ["is on its way", "is not on its way"],
      ["\r\nTo: ann@", "\r\nTo: eve@"],
      ["\r\nCc: bob@", "\r\nCc: eve@"],
      ["\r\nReply-To: desk@", "\r\nReply-To: eve@"],
      ["\r\nDate: Sat", "\r\nDate: Sun"],
    ];
    for (const [from, to] of changes) {
      const changed = mail.toString("latin1").replace(from, to);
      expect(changed, from).not.to.equal(mail.toString("latin1"));
      expect((await verified(Buffer.from(changed, "latin1"))).result, to).not.to.equal("pass");
    }
  });
});
