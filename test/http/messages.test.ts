import { expect } from "chai";
import { attachmentNamed, safeType } from "#src/http/present/files.ts";
import { type InProcess, mail } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

const svg = "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>";

/** A mail with one attachment a part: [type, Content-Disposition filename parameter, body]. */
const withAttachments = (id: string, parts: [string, string, string][]): string =>
  [
    `Message-ID: <${id}>`,
    "From: Ann <ann@customer.example>",
    "To: agent@agents.localhost",
    "Subject: Files",
    "Date: Mon, 16 Nov 2026 10:00:00 +0000",
    "MIME-Version: 1.0",
    'Content-Type: multipart/mixed; boundary="b"',
    "",
    "--b",
    "Content-Type: text/plain; charset=utf-8",
    "",
    "See the files.",
    ...parts.flatMap(([type, filename, body]) => [
      "--b",
      `Content-Type: ${type}`,
      `Content-Disposition: attachment; ${filename}`,
      "Content-Transfer-Encoding: base64",
      "",
      Buffer.from(body).toString("base64"),
    ]),
    "--b--",
    "",
  ].join("\r\n");

describe("http: messages", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  async function received(raw: string) {
    return tenant.lastMessage(await tenant.mail({ raw }));
  }

  it("the raw form of a message is the received mail byte for byte, as a download that no browser shows", async () => {
    const raw = `${mail({ id: "raw@x.example", text: "dots\r\n.\r\nbare\nline, tr\u00e4iling  " })}\r\n\r\n`;
    const { id } = await received(raw);
    const answer = await tenant.ask(`GET /v1/messages/${id}/raw`);
    expect(answer.status).to.equal(200);
    expect(answer.bytes.equals(Buffer.from(raw))).to.equal(true);
    expect(answer.headers.get("content-type")).to.equal("message/rfc822");
    expect(answer.headers.get("content-disposition")).to.match(/^attachment; filename="/);
    expect(answer.headers.get("x-content-type-options")).to.equal("nosniff");
    expect(answer.headers.get("content-security-policy")).to.contain("default-src 'none'");
  });

  it("the raw form of a sent message is what the provider was handed", async () => {
    const content = Buffer.from("hello").toString("base64");
    const attachments = [{ filename: "a.txt", content_type: "text/plain", content }];
    const draft = await tenant.draft(await tenant.mail(), { attachments });
    await draft.sendNow();
    const { json: list } = await tenant.ask(`GET /v1/threads/${draft.threadId}/messages`);
    const sent = list.data.at(-1);
    const answer = await tenant.ask(`GET /v1/messages/${sent.id}/raw`);
    expect(answer.status).to.equal(200);
    const [caught] = await service.outbox.newest(1);
    expect(answer.bytes.equals((await service.outbox.raw(caught!.id))!)).to.equal(true);
    expect(answer.text).to.contain(sent.rfc_message_id);
    expect(sent.attachments).to.deep.equal([
      { id: "1", filename: "a.txt", content_type: "text/plain", size_bytes: 5, content_id: null, inline: false },
    ]);
    const file = await tenant.ask(`GET /v1/messages/${sent.id}/attachments/1`);
    expect([file.status, file.text]).to.deep.equal([200, "hello"]);
  });

  it("attachments have their bytes and their UTF-8 names, always as downloads", async () => {
    const message = await received(
      withAttachments("a1@x.example", [["application/pdf", "filename*=UTF-8''Rechnung%20%C3%BC%E2%82%AC.pdf", "%PDF"]]),
    );
    expect(message.attachments).to.have.length(1);
    const [attachment] = message.attachments;
    expect(attachment).to.include({ filename: "Rechnung ü€.pdf", content_type: "application/pdf", size_bytes: 4 });
    const { status, text, headers } = await tenant.ask(`GET /v1/messages/${message.id}/attachments/${attachment.id}`);
    expect([status, text]).to.deep.equal([200, "%PDF"]);
    expect(headers.get("content-type")).to.equal("application/pdf");
    const disposition = headers.get("content-disposition")!;
    expect(disposition).to.match(/^attachment; filename="[\x20-\x7e]+"; /);
    expect(disposition).to.contain("filename*=UTF-8''Rechnung%20%C3%BC%E2%82%AC.pdf");
  });

  it("attachments of a type that browsers run are served as plain bytes", async () => {
    const message = await received(
      withAttachments("a2@x.example", [
        ["text/html", 'filename="page.html"', "<script>alert(1)</script>"],
        ["image/svg+xml", 'filename="drawing.svg"', svg],
        ["application/xhtml+xml", 'filename="page.xhtml"', svg],
      ]),
    );
    expect(message.attachments).to.have.length(3);
    for (const { id } of message.attachments) {
      const { status, headers } = await tenant.ask(`GET /v1/messages/${message.id}/attachments/${id}`);
      expect(status).to.equal(200);
      expect(headers.get("content-type")).to.equal("application/octet-stream");
      expect(headers.get("content-disposition")).to.match(/^attachment;/);
      expect(headers.get("x-content-type-options")).to.equal("nosniff");
    }
  });

  it("attachments are found only by their own message and workspace", async () => {
    const message = await received(withAttachments("a3@x.example", [["text/plain", 'filename="a.txt"', "secret"]]));
    const other = await received(mail({ id: "a4@x.example" }));
    const [{ id }] = message.attachments;
    const stranger = await service.workspace();
    const answers = await Promise.all([
      tenant.ask(`GET /v1/messages/${other.id}/attachments/${id}`),
      tenant.ask(`GET /v1/messages/${message.id}/attachments/none`),
      tenant.ask(`GET /v1/messages/none/attachments/${id}`),
      stranger.ask(`GET /v1/messages/${message.id}/attachments/${id}`),
      stranger.ask(`GET /v1/messages/${message.id}/raw`),
      stranger.ask("GET /v1/messages/0193a0aa-0000-7000-8000-000000000009/raw"),
    ]);
    const bodies = answers.map(({ status, json }) => JSON.stringify({ status, ...json, request_id: "" }));
    expect(new Set(bodies).size).to.equal(1);
    expect(answers[0]!.status).to.equal(404);
  });
});

describe("a stranger's file name and type", () => {
  it("a stranger's file name cannot break out of the header, name a path or hide its ending", () => {
    for (const [given, shown] of [
      ['a"; filename="b.exe', "a__ filename=_b.exe"],
      ["a\r\nSet-Cookie: x=1", "aSet-Cookie_ x=1"],
      ["../../etc/passwd", "_.._etc_passwd"],
      ["C:\\autoexec.bat", "C__autoexec.bat"],
      ["photo\u202egpj.exe", "photogpj.exe"],
      ["...", "attachment"],
      ["", "attachment"],
      ["\ud800.txt", "\ufffd.txt"],
      [`${"x".repeat(300)}.pdf`, `${"x".repeat(146)}.pdf`],
    ] as const) {
      const header = attachmentNamed(given);
      expect(header).to.match(/^attachment; filename="[\x20-\x21\x23-\x7e]*"; filename\*=UTF-8''[\w.~%!-]*$/);
      const name = decodeURIComponent(header.split("UTF-8''")[1]!);
      expect(name.replaceAll(";", "_"), given).to.equal(shown);
    }
  });

  it("a stranger's content type is passed to a browser only if nothing in the file can run", () => {
    expect(["image/PNG", "application/pdf; name=x", "text/csv"].map(safeType)).to.deep.equal([
      "image/png",
      "application/pdf",
      "text/csv",
    ]);
    for (const active of [
      "text/html",
      "TEXT/HTML; charset=utf-8",
      "image/svg+xml",
      "application/xml",
      "text/xml",
      "application/vnd.mozilla.xul+xml",
      "application/javascript",
      "text/javascript",
      "multipart/x-mixed-replace",
      "text/plain\r\nX: y",
      "",
    ]) {
      expect(safeType(active), active).to.equal("application/octet-stream");
    }
  });
});
