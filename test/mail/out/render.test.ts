import { createHash } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import PostalMime from "postal-mime";
import { Unrenderable } from "#src/mail/out/headerSafety.ts";
import { renderMail, renderNotice } from "#src/mail/out/render.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { sized } from "#test/support/full.ts";

const messageId = "<local@agents.localhost>";
const date = new Date("2026-11-21T10:00:00.999Z");
const none = new Map<string, Buffer>();

const render = (different: Partial<DraftContent> = {}, attachments: ReadonlyMap<string, Buffer> = none) =>
  renderMail({ content: draftContent(different), messageId, date, attachments });
const parsed = async (different: Partial<DraftContent> = {}) => PostalMime.parse((await render(different)).mime);
const headOf = (mime: Buffer) => mime.toString("latin1", 0, mime.indexOf("\r\n\r\n"));
const file = (filename: string, bytes: Buffer, content_type = "application/octet-stream") => {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { attachment: { filename, content_type, sha256 }, stored: new Map([[sha256, bytes]]) };
};

describe("the rendered mail", () => {
  it("the rendered mail is read as it was written", async () => {
    const cc = ["bob@customer.example", "cid@customer.example"];
    const mail = await parsed({
      from: { name: 'Zoë "Z" O’Neil, Ltd.', address: "zoe@agents.localhost" },
      subject: "Re: Größe – 大きさ 👍",
      cc,
      reply_to: "desk@agents.localhost",
    });
    expect(mail.from).to.deep.include({ name: 'Zoë "Z" O’Neil, Ltd.', address: "zoe@agents.localhost" });
    expect(mail.subject).to.equal("Re: Größe – 大きさ 👍");
    expect([mail.to, mail.cc, mail.replyTo].map((list) => list?.map((each) => each.address))).to.deep.equal([
      ["ann@customer.example"],
      cc,
      ["desk@agents.localhost"],
    ]);
    expect([mail.messageId, mail.inReplyTo, mail.references]).to.deep.equal([
      messageId,
      "<question@customer.example>",
      `<question@customer.example> ${messageId}`,
    ]);
    expect(mail.date).to.equal("2026-11-21T10:00:00.000Z");
    expect(mail.text).to.equal("Hello Ann,\n\nit is on its way.\n");
    expect(mail.html).to.equal(undefined);
  });

  it("the rendered mail has the same bytes for the same input", async () => {
    const { attachment, stored } = file("a.bin", Buffer.from([0, 13, 10, 255]));
    const different = { body_html: "<p>Hi</p>", attachments: [attachment] };
    const [one, two] = [await render(different, stored), await render(different, stored)];
    expect(one.mime.equals(two.mime)).to.equal(true);
  });

  it("the rendered mail names no program and has CRLF lines of at most 998 bytes", async () => {
    const long = "x".repeat(5_000);
    const { mime } = await render({
      subject: long,
      body_text: `${long}\rbare\nlf\r\ncrlf`,
      body_html: `<p>${long}</p>`,
      references: [`<${"r".repeat(600)}@x>`, `<${"s".repeat(600)}@x>`],
    });
    expect(headOf(mime)).not.to.match(/mailer|nodemailer/i);
    expect(mime.toString("latin1")).not.to.match(/[^\r]\n|\r[^\n]/);
    expect(mime.toString("latin1").endsWith("\r\n")).to.equal(true);
    expect(
      Math.max(
        ...mime
          .toString("latin1")
          .split("\r\n")
          .map((line) => line.length),
      ),
    ).to.be.at.most(998);
    const mail = await PostalMime.parse(mime);
    expect(mail.subject).to.equal(long);
    expect(mail.text).to.equal(`${long}\nbare\nlf\ncrlf\n`);
  });

  it("the rendered mail names a Bcc only in the envelope", async () => {
    const { mime, envelope } = await render({ bcc: ["hidden@secret.example"], body_html: "<p>x</p>" });
    expect(mime.toString()).not.to.match(/hidden|bcc/i);
    expect(envelope.to).to.include("hidden@secret.example");
  });

  it("the rendered mail goes to each address once, in any letter case, from the identity's address", async () => {
    const { envelope } = await render({
      to: ["Ann@Customer.example"],
      cc: ["bob@customer.example"],
      bcc: ["ANN@customer.example", "bob@Customer.Example"],
    });
    expect(envelope.from).to.equal("support@agents.localhost");
    expect(envelope.to.map((address) => address.toLowerCase())).to.deep.equal([
      "ann@customer.example",
      "bob@customer.example",
    ]);
  });

  it("the rendered mail has internationalised domains in their ASCII form", async () => {
    const { mime, envelope } = await render({ to: ["ann@bücher.example"] });
    expect(envelope.to).to.deep.equal(["ann@xn--bcher-kva.example"]);
    expect(headOf(mime)).to.include("To: ann@xn--bcher-kva.example");
  });

  it("the rendered mail keeps the first and the newest references and omits invalid ones", async () => {
    const ids = Array.from({ length: 200 }, (_, n) => `<${n}@x.example>`);
    const mail = await parsed({
      references: [...ids, "<with space@x>", "no brackets", `<${"l".repeat(2_000)}@x>`, "<ünicode@x>"],
    });
    expect(mail.references?.split(/\s+/)).to.deep.equal([ids[0], ...ids.slice(-48), messageId]);
  });

  it("a rendered mail that answers nothing has no In-Reply-To and references only itself", async () => {
    const head = headOf((await render({ in_reply_to: null, references: [] })).mime);
    expect(head).not.to.match(/in-reply-to/i);
    expect(head).to.match(new RegExp(`^References: ${messageId}\r?$`, "m"));
  });

  describe("bodies of the rendered mail", () => {
    it("the rendered mail has the signature below the usual mark and HTML in a plain document", async () => {
      const mail = await parsed({
        body_html: "<p>Hi</p>\n<p>&nbsp;there</p>",
        signature_text: "Ann & Co",
        signature_html: '<p lang="sv"><b>Ann</b></p>',
      });
      expect(mail.text).to.equal("Hello Ann,\n\nit is on its way.\n\n-- \nAnn & Co\n");
      expect(mail.html).to.equal(
        '<!doctype html><html><head><meta charset="utf-8"></head><body><p>Hi</p>\n<p>&nbsp;there</p><p lang="sv"><b>Ann</b></p></body></html>\n',
      );
    });
    it("the rendered mail makes neither signature form from the other", async () => {
      const text = await parsed({ body_html: "<p>Hi</p>", signature_text: "Ann" });
      expect(text.html).to.match(/<body><p>Hi<\/p><\/body>/);
      const html = await parsed({ body_html: "<p>Hi</p>", signature_html: "<p>Ann</p>", signature_text: null });
      expect(html.text).to.equal("Hello Ann,\n\nit is on its way.\n");
    });
    it("the rendered mail has text and HTML as alternatives, text first", async () => {
      const { mime } = await render({ body_html: "<p>Hello Ann</p>" });
      const mail = await PostalMime.parse(mime);
      expect(mail.text).to.equal("Hello Ann,\n\nit is on its way.\n");
      expect(headOf(mime)).to.match(/Content-Type: multipart\/alternative/);
      expect(mime.indexOf("text/plain")).to.be.lessThan(mime.indexOf("text/html"));
    });
    it("the rendered mail keeps lines of one dot, From lines and trailing spaces", async () => {
      const body_text = ".\n..\nFrom here\nspace \n=3D\n";
      expect((await parsed({ body_text })).text).to.equal(body_text);
    });
  });

  describe("attachments of the rendered mail", () => {
    it("the rendered mail has attachments byte for byte under their names", async () => {
      const bytes = Buffer.from(Array.from({ length: 1_000 }, (_, n) => (n * 7) % 256));
      for (const content_type of [
        "application/pdf",
        "text/plain; charset=utf-16",
        "message/rfc822",
        "multipart/mixed; boundary=x",
      ]) {
        const { attachment, stored } = file('Übersicht "2026" – Größe; 大.pdf', bytes, content_type);
        const mail = await PostalMime.parse((await render({ attachments: [attachment] }, stored)).mime);
        expect(mail.attachments.map((each) => each.filename)).to.deep.equal([attachment.filename]);
        expect(Buffer.from(mail.attachments[0]?.content as ArrayBuffer).equals(bytes), content_type).to.equal(true);
        expect(mail.text).to.equal("Hello Ann,\n\nit is on its way.\n");
      }
    });
    it("a mail whose attachment has no stored bytes is refused", async () => {
      const { attachment } = file("a", Buffer.from("a"));
      await refused({ attachments: [attachment] });
    });
    it("an object in place of the body text is refused and reads no file", async () => {
      // The types forbid this value, but a stored event could contain it.
      const body_text = { path: "/etc/hostname" } as unknown as string;
      const outcome = await render({ body_text }).catch((error) => error);
      expect(outcome).to.be.instanceOf(Error);
    });
  });

  describe("header injection", () => {
    it("a line break or NUL in any header value is refused", async () => {
      for (const bad of ["a\r\nBcc: evil@x.example", "a\nBcc: evil@x.example", "a\rb", "a\0b"]) {
        await refused({ subject: bad });
        await refused({ from: { name: bad, address: "a@b.example" } });
        await refused({ references: [`<${bad}@x>`] });
        await refused({ in_reply_to: `<${bad}@x>` });
        const { attachment, stored } = file(bad, Buffer.from("a"));
        await refused({ attachments: [attachment] }, stored);
        const typed = file("a", Buffer.from("a"), `text/plain${bad}`);
        await refused({ attachments: [typed.attachment] }, typed.stored);
      }
    });
    it("an invalid address is refused in every address field", async () => {
      const lists = [
        "b@x.example, evil@y.example",
        "b@x.example; c@y.example",
        "grp: e1@y.example, e2@y.example;",
        "Evil <evil@y.example>",
        "a@b@c",
        "a@b.example\r\nX: y",
        "a b@c.example",
        "<a@b.example>",
        "a@",
        "@b",
        "",
        "a@b..c",
        "a@[1.2.3.4] x",
        '"a\r\n"@b.example',
        "a@b.example>",
      ];
      for (const bad of lists) {
        for (const field of ["to", "cc", "bcc"] as const) await refused({ [field]: [bad] });
        await refused({ reply_to: bad });
        await refused({ from: { name: "", address: bad } });
      }
    });
    it("no subject, name, file name or reference adds a header or recipient", async () => {
      const hostile = fc.oneof(
        fc.string({ unit: "binary", maxLength: 120 }),
        fc
          .array(
            fc.constantFrom(
              "\r\n",
              "\n",
              "\r",
              "\0",
              "Bcc: evil@x.example",
              ": ",
              "=?utf-8?q?=0D=0AX:_y?=",
              "<",
              ">",
              '"',
              "\\",
              ",",
              ";",
              " ",
              "\t",
              "\u2028",
              "\u0085",
              "ä",
              "x".repeat(90),
            ),
          )
          .map((parts) => parts.join("")),
      );
      await fc.assert(
        fc.asyncProperty(fc.tuple(hostile, hostile, hostile, hostile), async ([subject, name, filename, id]) => {
          const { attachment, stored } = file(filename, Buffer.from("a"));
          const different = {
            subject,
            from: { name, address: "a@b.example" },
            references: [`<${id}@x>`],
            attachments: [attachment],
          };
          const mail = await render(different, stored).catch((error) => error);
          if (mail instanceof Unrenderable) return;
          expect(mail).not.to.be.instanceOf(Error);
          const names = headOf(mail.mime)
            .split(/\r\n(?![ \t])/)
            .map((line) => line.split(":")[0]);
          expect(names).to.have.members([...new Set(names)]);
          expect(expectedHeaders).to.include.members(names);
          expect(mail.envelope.to).to.deep.equal(["ann@customer.example"]);
          const read = await PostalMime.parse(mail.mime);
          expect(read.to?.map((each: { address?: string }) => each.address)).to.deep.equal(["ann@customer.example"]);
          expect(read.from?.address).to.equal("a@b.example");
        }),
        { numRuns: sized(40, 400) },
      );
    });
  });

  async function refused(different: Partial<DraftContent>, stored = none) {
    const outcome = await render(different, stored).catch((error) => error);
    expect(outcome, JSON.stringify(different)).to.be.instanceOf(Unrenderable);
  }
});

const expectedHeaders = [
  "From",
  "To",
  "Cc",
  "Reply-To",
  "Subject",
  "Message-ID",
  "In-Reply-To",
  "References",
  "Date",
  "MIME-Version",
  "Content-Type",
  "Content-Transfer-Encoding",
];

describe("a rendered notice", () => {
  const notice = {
    from: { name: "Countersign", address: "approvals@agents.localhost" },
    to: "boss@firm.example",
    subject: "Approve?",
    text: "https://x.example/a/t",
    html: "<a href='https://x.example/a/t'>open</a>",
    messageId,
    date,
  };

  it("a notice says that it is automatic and goes to one person", async () => {
    const { mime, envelope } = await renderNotice({ ...notice, headers: { "X-Loop": "mark" } });
    const head = headOf(mime);
    expect(head).to.match(/^Auto-Submitted: auto-generated$/m);
    expect(head).to.match(/^X-Auto-Response-Suppress: All$/m);
    expect(head).to.match(/^X-Loop: mark$/m);
    expect(envelope).to.deep.equal({ from: "approvals@agents.localhost", to: ["boss@firm.example"] });
    expect((await PostalMime.parse(mime)).text).to.equal("https://x.example/a/t\n");
  });

  it("a notice refuses headers that are standard ones, malformed or contain a line break", async () => {
    const bad: Record<string, string>[] = [
      { Bcc: "x@y.example\r\nX: y" },
      { From: "x" },
      { "a b": "x" },
      { "X-A": "a\r\nBcc: x@y.example" },
    ];
    for (const headers of bad) {
      const outcome = await renderNotice({ ...notice, headers }).catch((error) => error);
      expect(outcome, JSON.stringify(headers)).to.be.instanceOf(Unrenderable);
    }
  });
});
