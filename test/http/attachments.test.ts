import { createHash, randomBytes } from "node:crypto";
import { expect } from "chai";
import pg from "pg";
import type { HttpAnswer } from "#test/support/asking.ts";
import { runHere } from "#test/support/commandHere.ts";
import { sized } from "#test/support/full.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { longestHold } from "#test/support/processorTime.ts";
import { testSettings } from "#test/support/settings.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

const megabyte = 1024 * 1024;

describe("attachments, both ways [d6 attachments]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let mails = 0;

  before(async () => {
    ({ service, tenant } = await startStory({}, { identity: { canSendCold: true } }));
  });
  after(() => service.stop());

  const attachment = (bytes: Buffer, different: Record<string, unknown> = {}) => ({
    filename: "report.pdf",
    content_type: "application/pdf",
    content: bytes.toString("base64"),
    ...different,
  });
  const send = (attachments: unknown) =>
    tenant.ask("POST /v1/emails/send", {
      json: {
        identity_id: tenant.identity.id,
        to: [`f${++mails}@x.example`],
        subject: "Files",
        body_text: "See.",
        attachments,
      },
    });

  /** Waits until the draft was sent; returns its message. */
  async function sentMessage(draftId: string) {
    const { thread_id } = await (await tenant.draftWithId(draftId)).becomes("sent");
    await service.caughtUp();
    const { messages } = await tenant.thread(thread_id);
    return messages.find((each: any) => each.draft_id === draftId);
  }

  const bytes = randomBytes(100_000);
  const files = [
    attachment(bytes),
    attachment(Buffer.from("ä,1\n"), { filename: "Übersicht 😀.csv", content_type: "text/csv; charset=utf-8" }),
  ];

  const ways: [of: string, submit: () => Promise<string>][] = [
    ["a new mail", async () => (await send(files)).json.draft_id],
    [
      "a reply",
      async () => {
        const { threadId } = await tenant.mail();
        const json = { thread_id: threadId, body_text: "See.", attachments: files };
        return (await tenant.ask("POST /v1/emails/reply", { json })).json.draft_id;
      },
    ],
    [
      "a draft",
      async () => {
        const draft = await tenant.draft(await tenant.mail(), { attachments: files });
        await draft.send();
        return draft.id;
      },
    ],
  ];
  for (const [of, submit] of ways) {
    it(`the attachments of ${of} are sent in the mail, are listed with its message, and can be downloaded`, async () => {
      const message = await sentMessage(await submit());
      const { text: mime } = await tenant.ask(`GET /v1/messages/${message.id}/raw`);
      expect(
        message.attachments.map(({ filename, content_type, size_bytes, inline }: any) => ({
          filename,
          content_type,
          size_bytes,
          inline,
        })),
      ).to.deep.equal([
        { filename: "report.pdf", content_type: "application/pdf", size_bytes: bytes.length, inline: false },
        { filename: "Übersicht 😀.csv", content_type: "text/csv; charset=utf-8", size_bytes: 5, inline: false },
      ]);
      expect(mime.replaceAll("\r\n", "")).to.contain(bytes.toString("base64"));
      const [first, second] = message.attachments;
      const download = await tenant.ask(`GET /v1/messages/${message.id}/attachments/${first.id}`);
      expect(download.status).to.equal(200);
      expect(download.bytes.equals(bytes)).to.equal(true);
      expect(download.headers.get("content-type")).to.equal("application/pdf");
      const csv = await tenant.ask(`GET /v1/messages/${message.id}/attachments/${second.id}`);
      expect(csv.text).to.equal("ä,1\n");
      expect(csv.headers.get("content-disposition")).to.contain("filename*=UTF-8''%C3%9Cbersicht%20%F0%9F%98%80.csv");
    });
  }

  it("attachments of another workspace and missing ones are answered alike", async () => {
    const message = await sentMessage((await send(files)).json.draft_id);
    const stranger = await service.workspace();
    const own = `GET /v1/messages/${message.id}/attachments`;
    const missing = await tenant.ask(`${own}/99`);
    expect(missing.status).to.equal(404);
    for (const line of [
      `${own}/1`,
      `${own}/99`,
      `${own}/..%2F..%2Fetc%2Fpasswd`,
      `GET /v1/messages/${message.id}/raw`,
    ]) {
      const answer = await stranger.ask(line);
      expect({ ...answer.json, request_id: "" }, line).to.deep.equal({ ...missing.json, request_id: "" });
    }
  });

  it("attachments beyond the bounds, or with a name or type that a mail cannot have, are refused with the field's name", async () => {
    const small = Buffer.from("x");
    const wrong: [unknown, string][] = [
      [Array.from({ length: 11 }, () => attachment(small)), "attachments"],
      [{}, "attachments"],
      [[attachment(small, { content: undefined })], "attachments[0].content"],
      [[attachment(small, { content: "eA=" })], "attachments[0].content"],
      [[attachment(small, { content: "e A=" })], "attachments[0].content"],
      [[attachment(small, { content: "eA__" })], "attachments[0].content"],
      [[attachment(small), attachment(small, { filename: "../etc/passwd" })], "attachments[1].filename"],
      [[attachment(small, { filename: "C:\\boot.ini" })], "attachments[0].filename"],
      [[attachment(small, { filename: ".." })], "attachments[0].filename"],
      [[attachment(small, { filename: " " })], "attachments[0].filename"],
      [[attachment(small, { filename: "a\r\nBcc: x" })], "attachments[0].filename"],
      [[attachment(small, { filename: "tab\there.txt" })], "attachments[0].filename"],
      [[attachment(small, { filename: "invoice\u202efdp.exe" })], "attachments[0].filename"],
      [[attachment(small, { filename: "x".repeat(256) })], "attachments[0].filename"],
      [[attachment(small, { content_type: "pdf" })], "attachments[0].content_type"],
      [[attachment(small, { content_type: "multipart/mixed" })], "attachments[0].content_type"],
      [[attachment(small, { content_type: "text/html\r\nX: y" })], "attachments[0].content_type"],
      [[attachment(small, { sha256: "0" })], "attachments[0].sha256"],
      [[attachment(Buffer.alloc(10 * megabyte + 1))], "attachments[0].content"],
      [[9, 9, 8].map((size) => attachment(Buffer.alloc(size * megabyte))), "attachments"],
    ];
    for (const [attachments, field] of wrong) {
      const answer = await send(attachments);
      expect(answer.status, `${field} ${answer.text.slice(0, 200)}`).to.equal(422);
      expect(answer.json.message.startsWith(`${field}:`), answer.json.message).to.equal(true);
    }
    const empty = await send([attachment(Buffer.alloc(0), { filename: "empty.txt", content_type: "text/plain" })]);
    expect(empty.status).to.equal(202);
  });

  const hashOf = (file: Buffer): string => createHash("sha256").update(file).digest("hex");
  const twice = ["r@x.example", "R@x.example"];
  const refusals: [of: string, ask: (file: Buffer) => Promise<HttpAnswer>][] = [
    [
      "a new mail that shows nothing",
      (file) =>
        tenant.ask("POST /v1/emails/send", {
          json: {
            ...{ identity_id: tenant.identity.id, to: ["r@x.example"], subject: "Files" },
            body_html: "<script>nothing that can be shown</script>",
            attachments: [attachment(file)],
          },
        }),
    ],
    [
      "a reply that names somebody twice",
      async (file) => {
        const { threadId } = await tenant.mail();
        const json = { thread_id: threadId, body_text: "See.", cc: twice, attachments: [attachment(file)] };
        return tenant.ask("POST /v1/emails/reply", { json });
      },
    ],
    [
      "a draft that names somebody twice",
      async (file) => tenant.submit(await tenant.mail(), { cc: twice, attachments: [attachment(file)] }),
    ],
  ];
  for (const [what, ask] of refusals) {
    it(`the attachments of ${what} are not stored`, async () => {
      const file = randomBytes(300_000);
      const refused = await ask(file);
      expect(refused.outcome, refused.text).to.equal("422 invalid_request");
      expect(await service.deps.blobs.size(hashOf(file))).to.equal(undefined);
      expect((await send([attachment(file)])).status).to.equal(202);
      expect(await service.deps.blobs.size(hashOf(file))).to.equal(file.length);
    });
  }

  it("pictures inside a body are not stored if the body is refused", async () => {
    const picture = Buffer.concat([Buffer.from("89504e470d0a1a0a", "hex"), randomBytes(500)]);
    const shown = `<p>See.</p><img alt="it" src="data:image/png;base64,${picture.toString("base64")}">`;
    const letter = (body_html: string) =>
      tenant.ask("POST /v1/emails/send", {
        json: { identity_id: tenant.identity.id, to: [`f${++mails}@x.example`], subject: "Files", body_html },
      });
    // In the text part each line is in twenty nested quotations.
    const long = `${shown}${"<blockquote>".repeat(20)}${"a<br>".repeat(20_000)}${"</blockquote>".repeat(20)}`;
    const refused = await letter(long);
    expect([refused.status, refused.json.message], refused.text).to.satisfy(
      ([status, message]: [number, string]) => status === 422 && message.includes("would exceed 512 KB"),
    );
    expect(await service.deps.blobs.size(hashOf(picture))).to.equal(undefined);
    expect((await letter(shown)).status).to.equal(202);
    expect(await service.deps.blobs.size(hashOf(picture))).to.equal(picture.length);
  });

  const bodies: [string, () => string][] = [
    [
      "millions of fields",
      () => `{"metadata":{${Array.from({ length: sized(25_000, 2_400_000) }, (_, n) => `"k${n}":0`).join()}}}`,
    ],
    ["millions of zeros", () => `[${Array(sized(25_000, 17_500_000)).fill("0").join()}]`],
  ];
  for (const [what, bodyOf] of bodies) {
    it(`a body of ${what} is refused with 422 before anything is parsed, although attachments may be large`, async () => {
      const body = Buffer.from(bodyOf());
      let answer: HttpAnswer | undefined;
      const standstill = await longestHold(async () => {
        answer = await tenant.ask("POST /v1/emails/send", { body, headers: { "Content-Type": "application/json" } });
      });
      expect(answer?.outcome).to.equal("422 invalid_request");
      expect(answer?.json.message).to.match(/expected a body of at most 20000 JSON values$/);
      // The client that sends it is in this process too.
      expect(standstill).to.be.lessThan(1_000);
    });
  }

  it("attachments may be exactly as large as allowed, and a larger request is refused as a whole", async () => {
    const sizes = [10 * megabyte, 10 * megabyte, 5 * megabyte];
    const { status, json } = await send(sizes.map((size) => attachment(Buffer.alloc(size, 7))));
    expect(status).to.equal(202);
    const message = await sentMessage(json.draft_id);
    expect(message.attachments.map(({ size_bytes }: any) => size_bytes)).to.deep.equal(sizes);
    const over = await send([{ filename: "a", content_type: "text/plain", content: "A".repeat(36 * megabyte) }]);
    expect(over.outcome).to.equal("413 payload_too_large");
  });

  it("attachments that an event names are kept, however old: npm run blobs -- sweep removes only those that nothing names", async () => {
    // Too long for an event: what is attached is named by a content that is itself in the store.
    const { json } = await tenant.ask("POST /v1/emails/send", {
      json: {
        ...{
          identity_id: tenant.identity.id,
          to: ["long@x.example"],
          subject: "Long",
          body_text: "Long. ".repeat(5_000),
        },
        attachments: [attachment(randomBytes(1_000))],
      },
    });
    const long = await sentMessage(json.draft_id);
    const nobodys = await service.deps.blobs.put(randomBytes(500));
    const owner = new pg.Client({ connectionString: service.urls.ownerUrl });
    await owner.connect();
    const textsOf = async (sql: string): Promise<string> =>
      (await owner.query(sql)).rows.map(({ text }) => text).join();
    const hashesOf = async (sql: string) => (await textsOf(sql)).match(/(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])/g) ?? [];
    const storedHashes = () => hashesOf("select encode(sha256, 'hex') as text from work.blobs");
    const named = new Set([
      ...(await hashesOf("select data::text as text from es.events")),
      ...(await hashesOf(`select convert_from(bytes, 'UTF8') as text from work.blobs where bytes like '{"from":%'`)),
    ]);
    const before = await storedHashes();
    await owner.query("update work.blobs set touched_at = now() - interval '25 hours'");
    const [dry, swept] = [await sweep("--dry-run"), await sweep()];
    const after = await storedHashes();
    await owner.end();
    expect(before.filter((hash) => named.has(hash)).length).to.be.above(2);
    expect(after).to.have.members(before.filter((hash) => named.has(hash)));
    expect(before).to.include(nobodys);
    const gone = before.length - after.length;
    expect([dry.would_remove.blobs, swept.removed.blobs]).to.deep.equal([gone, gone]);
    const file = await tenant.ask(`GET /v1/messages/${long.id}/attachments/1`);
    expect([file.status, file.bytes.length]).to.deep.equal([200, 1_000]);
    expect((await tenant.ask(`GET /v1/messages/${long.id}/raw`)).status).to.equal(200);
  });

  async function sweep(...options: string[]) {
    const environment = {
      ...{ NODE_ENV: "test", DATABASE_URL: service.urls.serviceUrl, DATABASE_OWNER_URL: service.urls.ownerUrl },
      SECRETS_KEYS: testSettings.SECRETS_KEYS,
    };
    const { code, out, err } = await runHere("blobs", ["sweep", ...options], environment);
    expect(code, err).to.equal(0);
    return JSON.parse(out);
  }
});
