import { createHash } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import PostalMime, { type Email } from "postal-mime";
import { renderMail, renderNotice } from "#src/mail/out/render.ts";
import { createSendGridProvider } from "#src/mail/out/sendGrid/sendGridProvider.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { sized } from "#test/support/full.ts";
import { mockMail } from "#test/support/sendGrid/mail.ts";
import { type MockSendGrid, mockApiKey, startMockSendGrid } from "#test/support/sendGrid/mockSendGrid.ts";

const messageId = "<local@agents.localhost>";
const date = new Date("2026-11-21T10:00:00Z");
const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.from("picture")]);
const hashOf = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 }).filter((text) => !/[\p{C}\p{Z}]/u.test(text));
const line = fc.array(word, { minLength: 1, maxLength: 8 }).map((words) => words.join(" "));
const lines = fc.array(
  fc.oneof(line, fc.constantFrom("", "> quoted", "-- ", ".", "From here", "  indented  ", "tab\t")),
  { maxLength: 12 },
);
const text = fc.tuple(line, lines).map(([first, more]) => [first, ...more]);
const address = fc
  .tuple(fc.stringMatching(/^[a-z0-9][a-z0-9+_]{0,12}$/), fc.constantFrom("x.example", "Y.Example", "bücher.example"))
  .map(([local, domain]) => `${local}@${domain}`);
const file = fc.record({
  filename: fc.oneof(
    fc.stringMatching(/^[\w -]{1,20}\.[a-z]{2,4}$/).map((name) => name.trim()),
    line,
  ),
  content_type: fc.constantFrom("application/pdf", "text/plain; charset=iso-8859-1", "message/rfc822", "image/png"),
  bytes: fc.oneof(
    fc.uint8Array({ minLength: 1, maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
    fc.uint8Array({ minLength: 1, maxLength: 20 }).map((bytes) => Buffer.concat([png, bytes])),
  ),
});

const content = fc
  .record({
    name: fc.oneof(line, fc.constant("")),
    subject: fc.oneof(line, fc.constantFrom("Re: Größe – 大きさ 👍", "x".repeat(900))),
    addresses: fc.uniqueArray(address, { minLength: 3, maxLength: 8, selector: (each) => each.toLowerCase() }),
    replyTo: fc.option(address),
    text,
    html: fc.option(text),
    signature: fc.option(line),
    files: fc.uniqueArray(file, { maxLength: 3, selector: ({ bytes }) => bytes.toString("hex") }),
    references: fc.array(
      fc.stringMatching(/^[a-z0-9.]{1,60}$/).map((id) => `<${id}@x.example>`),
      { maxLength: 60 },
    ),
  })
  .map(({ name, addresses: [to, cc, bcc, ...more], files, html, ...given }) => {
    const attachments = files.map(({ filename, content_type, bytes }) => ({
      filename,
      content_type,
      sha256: hashOf(bytes),
    }));
    const shown = attachments.map(({ sha256 }) => `<img src="cid:${sha256}" alt="">`).join("");
    const escaped = (lines: string[]) => lines.join("\n").replace(/[&<>"]/g, "&#63;");
    const written: Partial<DraftContent> = {
      from: { name, address: "agent@bücher.example" },
      to: [to!],
      cc: [cc!, ...more],
      bcc: [bcc!],
      reply_to: given.replyTo,
      subject: given.subject,
      body_text: given.text.join("\n"),
      body_html: html === null ? null : `<p>${escaped(html)}</p>${shown}`,
      signature_text: given.signature,
      references: given.references,
      in_reply_to: given.references.at(-1) ?? null,
      attachments,
    };
    return { content: draftContent(written), files: new Map(files.map(({ bytes }) => [hashOf(bytes), bytes])) };
  });

/** The contents of a mail as its reader sees them. */
type Said = Record<string, unknown>;

/** Removes line ends after the last line, because parsers disagree about the one before a boundary. */
const trimmed = (body: string | undefined) => (body === undefined ? null : body.replace(/\n+$/, ""));
const ids = (header: string | undefined) => header?.split(/\s+/) ?? [];
const sorted = (list: readonly string[] | undefined) => (list ?? []).map((each) => each.toLowerCase()).sort();

/** Sorts inline files first, as MIME has them next to the HTML. */
const shownFirst = <File extends { disposition: unknown }>(files: File[]): File[] => [
  ...files.filter(({ disposition }) => disposition === "inline"),
  ...files.filter(({ disposition }) => disposition !== "inline"),
];

const saidByMime = (mail: Email, envelope: readonly string[]): Said => ({
  from: mail.from?.address?.toLowerCase(),
  name: mail.from?.name ?? "",
  to: sorted(mail.to?.map(({ address = "" }) => address)),
  cc: sorted(mail.cc?.map(({ address = "" }) => address)),
  everybody: sorted(envelope),
  replyTo: mail.replyTo?.[0]?.address?.toLowerCase() ?? null,
  subject: mail.subject ?? "",
  text: trimmed(mail.text),
  html: trimmed(mail.html),
  messageId: mail.messageId,
  inReplyTo: mail.inReplyTo ?? null,
  references: ids(mail.references),
  files: shownFirst(
    mail.attachments.map((each) => ({
      filename: each.filename,
      type: each.mimeType,
      disposition: each.disposition,
      contentId: each.contentId?.replace(/^<|>$/g, "") ?? null,
      bytes: Buffer.from(each.content as ArrayBuffer).toString("hex"),
    })),
  ),
});

function saidByJson(body: any): Said {
  const [{ to, cc = [], bcc = [] }] = body.personalizations;
  const emails = (list: { email: string }[]) => sorted(list.map(({ email }) => email));
  const part = (type: string) => body.content.find((each: { type: string }) => each.type === type)?.value;
  return {
    from: body.from.email.toLowerCase(),
    name: body.from.name ?? "",
    to: emails(to),
    cc: emails(cc),
    everybody: emails([...to, ...cc, ...bcc]),
    replyTo: body.reply_to?.email.toLowerCase() ?? null,
    subject: body.subject,
    text: trimmed(part("text/plain")),
    html: trimmed(part("text/html")),
    messageId: body.headers["Message-ID"],
    inReplyTo: body.headers["In-Reply-To"] ?? null,
    references: ids(body.headers.References),
    files: shownFirst(
      (body.attachments ?? []).map((each: any) => ({
        filename: each.filename,
        type: each.type,
        disposition: each.disposition,
        contentId: each.content_id ?? null,
        bytes: Buffer.from(each.content, "base64").toString("hex"),
      })),
    ),
  };
}

describe("the request to SendGrid", () => {
  const sendGrid = mockMail();
  let mock: MockSendGrid;
  before(async () => {
    mock = await startMockSendGrid(sendGrid.handlers);
  });
  after(() => mock.stop());

  async function sent(mail: Awaited<ReturnType<typeof renderMail>>): Promise<any> {
    const provider = createSendGridProvider({ apiKey: mockApiKey, baseUrl: mock.url });
    const outcome = await (await provider.connect()).handOver({ attemptId: "attempt", messageId, ...mail }, () => true);
    expect(outcome, JSON.stringify(outcome)).to.include({ kind: "accepted" });
    return sendGrid.taken.at(-1)!.body;
  }

  it("the request to SendGrid says the same as the MIME: subject, addresses, bodies and files", async () => {
    await fc.assert(
      fc.asyncProperty(content, async ({ content, files }) => {
        const mail = await renderMail({ content, messageId, date, attachments: files });
        const mime = await PostalMime.parse(mail.mime, { attachmentEncoding: "arraybuffer" });
        const [json, read] = [saidByJson(await sent(mail)), saidByMime(mime, mail.envelope.to)];
        for (const [what, said] of Object.entries(read)) expect(json[what], what).to.deep.equal(said);
      }),
      { numRuns: sized(40, 2_000) },
    );
  });

  it("the request to SendGrid names the attempt and disables all tracking", async () => {
    const mail = await renderMail({ content: draftContent(), messageId, date, attachments: new Map() });
    const body = await sent(mail);
    expect(body.personalizations).to.have.length(1);
    expect(body.personalizations[0].custom_args).to.deep.equal({ attempt_id: "attempt", rfc_message_id: messageId });
    expect(body.tracking_settings).to.deep.equal({
      click_tracking: { enable: false, enable_text: false },
      open_tracking: { enable: false },
      subscription_tracking: { enable: false },
      ganalytics: { enable: false },
    });
    expect(mock.calls.at(-1)!.headers).not.to.have.any.keys("references", "message-id", "in-reply-to");
  });

  it("the request to SendGrid names each address once, in the first of its fields", async () => {
    const content = draftContent({
      to: ["Ann@Customer.example"],
      cc: ["ann@customer.example", "bob@bücher.example"],
      bcc: ["bob@xn--bcher-kva.example", "hidden@secret.example"],
    });
    const { personalizations } = await sent(await renderMail({ content, messageId, date, attachments: new Map() }));
    expect(personalizations[0]).to.deep.include({
      to: [{ email: "Ann@customer.example" }],
      cc: [{ email: "bob@xn--bcher-kva.example" }],
      bcc: [{ email: "hidden@secret.example" }],
    });
  });

  it("the request to SendGrid has a blank for an empty subject and no empty text part", async () => {
    const content = draftContent({ subject: "", body_text: "", body_html: "<p>Hi</p>" });
    const body = await sent(await renderMail({ content, messageId, date, attachments: new Map() }));
    expect([body.subject, body.content.map((part: { type: string }) => part.type)]).to.deep.equal([" ", ["text/html"]]);
  });

  it("the request to SendGrid marks the service's own mail as automatic", async () => {
    const notice = { from: { name: "Countersign", address: "approvals@agents.localhost" }, to: "boss@ours.example" };
    const words = { subject: "Please look", text: "Open it.", html: "<p>Open it.</p>" };
    const body = await sent(await renderNotice({ ...notice, ...words, messageId, date }));
    expect(body.headers).to.deep.equal({
      "Message-ID": messageId,
      "Auto-Submitted": "auto-generated",
      "X-Auto-Response-Suppress": "All",
    });
    expect(saidByJson(body)).to.deep.include({ subject: "Please look", text: "Open it.", html: "<p>Open it.</p>" });
  });
});
