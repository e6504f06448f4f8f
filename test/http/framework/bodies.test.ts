import { createHash } from "node:crypto";
import { expect } from "chai";
import { createBodyParser } from "#src/http/framework/body/bodyParser.ts";
import { EncodedFile } from "#src/http/framework/body/encodedFile.ts";
import { validKey } from "./support.ts";
import { draft, known, useToys } from "./toys.ts";

describe("http framework: request bodies", () => {
  const toys = useToys();
  const { ask, refused } = toys;
  const nested = (depth: number) => `${'{"a":'.repeat(depth - 1)}{}${"}".repeat(depth - 1)}`;
  const post = (body: RequestInit["body"], type = "application/json") => ({
    body,
    headers: { "Content-Type": type },
  });

  it("a request body whose fields are all at their size limits is accepted unchanged", async () => {
    const full = {
      ...draft,
      body_text: "é".repeat(131_072),
      cc: Array.from({ length: 50 }, (_, index) => `p${index}@example.com`),
      rationale: "x".repeat(8192),
      metadata: { k: "x".repeat(8192 - 8) },
      subject_override: "Grüße",
    };
    const answer = await ask("POST /v1/drafts", { json: full });
    expect(answer.status, answer.text.slice(0, 300)).to.equal(201);
    expect(answer.json.seen).to.deep.equal(full);
    expect(
      (await ask("POST /v1/drafts", { ...post(JSON.stringify({ ...draft, metadata: JSON.parse(nested(31)) })) }))
        .status,
    ).to.equal(201);
  });

  const one = (field: string, value: unknown): [string, unknown, string] => [
    `${field} ${JSON.stringify(value).slice(0, 30)}`,
    { ...draft, [field]: value },
    field,
  ];
  const wrong: [string, unknown, string][] = [
    one("thread_id", "x"),
    one("thread_id", 5),
    one("thread_id", null),
    one("body_text", ["x"]),
    one("body_text", { path: "/etc/passwd" }),
    one("body_text", `${"é".repeat(131_072)}x`),
    one("cc", "a@example.com"),
    one("rationale", `${"é".repeat(4096)}x`),
    one("metadata", []),
    one("metadata", { k: "x".repeat(8192 - 7) }),
    one("unknown", 1),
    one("status", "sent"),
    one("workspace_id", known),
    one("constructor", 1),
    one("subject_override", "a\r\nBcc: evil@example.com"),
    one("subject_override", "a\nb"),
    one("subject_override", "x".repeat(999)),
    ["a NUL", { ...draft, body_text: "a\0b" }, "body_text"],
    ["a NUL in metadata", { ...draft, metadata: { a: ["x", "\0"] } }, "metadata.a[1]"],
    ["half a character in a text", { ...draft, body_text: "\ud800" }, "body_text"],
    ["no thread_id", { body_text: "x" }, "thread_id: required"],
    ["no text", { ...draft, body_text: undefined }, "at least one of body_text and body_html"],
    ["an empty text", { ...draft, body_text: "" }, "at least one of body_text and body_html"],
    [
      "51 copies",
      { ...draft, cc: Array.from({ length: 51 }, (_, index) => `p${index}@example.com`) },
      "cc: expected an array of at most 50 elements",
    ],
    ["an array in place of the object", [draft], "body: expected an object"],
    ["null in place of the object", null, "body: expected an object"],
    ["a string in place of the object", "x", "body: expected an object"],
    [
      "too many attachments",
      { ...draft, attachments: Array(11).fill({ filename: "a", content_type: "b", content: "" }) },
      "attachments",
    ],
    [
      "a header in a file name",
      { ...draft, attachments: [{ filename: "a\r\nX: y", content_type: "b", content: "" }] },
      "attachments[0].filename: expected text without line breaks",
    ],
  ];
  for (const address of [
    "a@b@c",
    "a@example.com, b@example.com",
    "A <a@example.com>",
    "grp: a@example.com;",
    "a@example.com\r\nX: y",
    " a@example.com",
    "a@-x.com",
    "@x",
    "a@",
    "a b@x.com",
    "a..b@x.com",
    `${"a".repeat(65)}@x.com`,
    "ä@x.com",
    "",
  ]) {
    wrong.push([
      `cc ${JSON.stringify(address).slice(0, 30)}`,
      { ...draft, cc: ["ok@example.com", address] },
      "cc[1]: expected one plain email address",
    ]);
  }
  for (const [what, json, names] of wrong) {
    it(`a request body with ${what} is refused with "${names}"`, async () => {
      expect((await refused("POST /v1/drafts", { json }, [422, "invalid_request"])).message).to.contain(names);
    });
  }

  it("a request body that is not plain JSON in UTF-8 is refused", async () => {
    await refused("POST /v1/drafts", post("{"), [422, "invalid_request"]);
    await refused("POST /v1/drafts", post("{} x"), [422, "invalid_request"]);
    await refused("POST /v1/drafts", post(Buffer.from([0x22, 0xff, 0x22])), [422, "invalid_request"]);
    await refused("POST /v1/drafts", post("{}", "application/x-www-form-urlencoded"), [422, "invalid_request"]);
    await refused("POST /v1/drafts", post("{}", "application/json; charset=iso-8859-1"), [422, "invalid_request"]);
    await refused(
      "POST /v1/drafts",
      { body: "{}", headers: { "Content-Type": "application/json", "Content-Encoding": "gzip" } },
      [422, "invalid_request"],
    );
    expect((await refused("POST /v1/drafts", post(""), [422, "invalid_request"])).message).to.contain(
      "thread_id: required",
    );
  });

  it("a request body nested deeper than 32 levels is refused, even at 400,000 levels", async () => {
    const deep = (depth: number) => post(JSON.stringify(draft).replace("}", `,"metadata":${nested(depth)}}`));
    expect((await refused("POST /v1/drafts", deep(32), [422, "invalid_request"])).message).to.contain(
      "at most 32 levels deep",
    );
    await refused("POST /v1/drafts", deep(100_000), [422, "invalid_request"]);
    await refused("POST /v1/drafts", post(`${"[".repeat(400_000)}${"]".repeat(400_000)}`), [422, "invalid_request"]);
  });

  it("a request body of more than 20,000 JSON values is refused, and the refusal names the field", async () => {
    const many = `{"metadata":{${Array.from({ length: 20_000 }, (_, n) => `"k${n}":0`).join()}}}`;
    const { message, field } = await refused("POST /v1/drafts", post(many), [422, "invalid_request"]);
    expect([message, field]).to.deep.equal(["metadata: expected a body of at most 20000 JSON values", "metadata"]);
    const zeros = `[${Array(20_000).fill(0).join()}]`;
    const whole = await refused("POST /v1/drafts", post(zeros), [422, "invalid_request"]);
    expect(whole.message).to.equal("body: expected a body of at most 20000 JSON values");
  });

  it("a request body above 256 KB is accepted or refused in the same words as a smaller one", async () => {
    const html = "é".repeat(131_072);
    const large = { ...draft, body_text: html, body_html: html };
    const { json } = await ask("POST /v1/drafts", { json: large });
    expect(json.seen).to.deep.equal(large);
    for (const [field, value, says] of [
      ["rationale", "a\0b", "rationale: expected text without NUL characters"],
      ["metadata", { a: ["\ud800"] }, "metadata.a[0]: expected well-formed Unicode text"],
      ["unknown", 1, "unknown: unknown field: expected"],
      ["body_text", `${html}x`, "body_text: expected a string of at most 262144 bytes or null"],
    ] as const) {
      const refusal = await refused("POST /v1/drafts", { json: { ...large, [field]: value } }, [
        422,
        "invalid_request",
      ]);
      expect(refusal.message).to.contain(says);
      expect(refusal.field).to.equal(says.slice(0, says.indexOf(":")));
    }
    const text = JSON.stringify(large);
    for (const [body, says] of [
      [text.slice(1), "the request body is not valid JSON"],
      [Buffer.concat([Buffer.from(text.slice(0, -2)), Buffer.from([0xff]), Buffer.from('"}')]), "not valid UTF-8"],
      [text.replace("{", '{"__proto__":{"admin":true},'), "__proto__: unknown field"],
    ] as const) {
      const { message } = await refused("POST /v1/drafts", post(body), [422, "invalid_request"]);
      expect(message).to.contain(says);
    }
  });

  it("request bodies above 256 KB are parsed, decoded and hashed by another thread, smaller ones are not", async () => {
    const parser = createBodyParser();
    const parsed = async (bytes: number, content: string) => {
      const block = new Uint8Array(Buffer.from(JSON.stringify({ text: "x".repeat(bytes), files: [{ content }, {}] })));
      const body = (await parser.parse([block], [["files", "*", "content"]])) as any;
      return { moved: block.length === 0, text: body.text.length, file: body.files[0].content, none: body.files[1] };
    };
    const file = Buffer.from("a file");
    const sha256 = createHash("sha256").update(file).digest("hex");
    for (const [bytes, moved] of [
      [200_000, false],
      [300_000, true],
    ] as const) {
      const encoded = new EncodedFile(8, { bytes: file, sha256 });
      const sound = await parsed(bytes, file.toString("base64"));
      expect(sound).to.deep.equal({ moved, text: bytes, file: encoded, none: {} });
      expect((await parsed(bytes, "no base64")).file).to.deep.equal(new EncodedFile(9, undefined));
    }
    await parser.close();
  });

  it("the key __proto__ anywhere in a request body is refused as an unknown field", async () => {
    const text = JSON.stringify(draft);
    for (const body of [
      text.replace("{", '{"__proto__":{"admin":true},'),
      text.replace("}", ',"metadata":{"__proto__":1}}'),
    ]) {
      expect((await refused("POST /v1/drafts", post(body), [422, "invalid_request"])).message).to.match(
        /__proto__: unknown field/,
      );
    }
    expect(({} as { admin?: boolean }).admin).to.equal(undefined);
  });

  it("a request body over the limit is refused with 413, whether its length is declared or it is chunked", async () => {
    await refused("POST /v1/drafts", post("x".repeat(1024 * 1024 + 1)), [413, "payload_too_large"]);
    const stream = new Blob(["x".repeat(3_000_000)]).stream();
    const chunked = await fetch(`${toys.service.url}/v1/drafts`, {
      method: "POST",
      body: stream,
      duplex: "half",
      headers: { Authorization: `Bearer ${validKey}`, "Content-Type": "application/json" },
    } as RequestInit);
    expect(chunked.status).to.equal(413);
    expect((await ask("GET /v1/open")).status).to.equal(200);
  });

  it("a DELETE needs no request body, but a body with an unknown field is refused", async () => {
    expect((await ask(`DELETE /v1/toys/${known}`)).json).to.deep.equal({ id: known, deleted: true });
    expect((await ask(`DELETE /v1/toys/${known}`, { json: {} })).status).to.equal(200);
    const { message } = await refused(`DELETE /v1/toys/${known}`, { json: { force: true } }, [422, "invalid_request"]);
    expect(message).to.equal("force: unknown field: expected none");
  });

  it("null in a request body clears a field, and a channel's type decides which config fields are valid", async () => {
    expect(
      (await ask(`PATCH /v1/drafts/${known}`, { json: { body_html: null, subject_override: null } })).json.seen,
    ).to.deep.equal({ body_html: null, subject_override: null });
    expect(
      (await refused(`PATCH /v1/drafts/${known}`, { json: { body_html: 1 } }, [422, "invalid_request"])).message,
    ).to.contain("body_html: expected a string of at most 262144 bytes or null");
    const identity = { domain_id: known, local_part: "support", display_name: "Support" };
    const made = await ask("POST /v1/identities", { json: identity });
    expect(made.json.seen).to.include({
      thread_history_depth: 10,
      can_send_cold: false,
      auto_approve_replies: false,
      send_on_channel_approval: true,
    });
    const channel = async (approval_channel: unknown) =>
      (await refused("POST /v1/identities", { json: { ...identity, approval_channel } }, [422, "invalid_request"]))
        .message;
    expect(await channel({ type: "fax", config: {} })).to.contain(
      "approval_channel.type: expected one of telegram, slack, email",
    );
    expect(await channel({ type: "email", config: { to: "x" } })).to.contain(
      "approval_channel.config.to: expected one plain email address",
    );
    expect(await channel({ type: "email", config: { to: "a@example.com", cc: "b" } })).to.contain(
      "approval_channel.config.cc: unknown field",
    );
    expect(await channel({ type: "telegram", config: { chat_id: "1" } })).to.contain(
      "approval_channel.config.bot_token: required",
    );
    expect(await channel("email")).to.contain("approval_channel: expected an object or null");
    for (const local_part of ["Support", "a b", "a@b", "", ".a", "ä", "x".repeat(65)]) {
      expect(
        (await refused("POST /v1/identities", { json: { ...identity, local_part } }, [422, "invalid_request"])).message,
      ).to.contain("local_part");
    }
    for (const thread_history_depth of [0, 21, 1.5, "10"]) {
      await refused("POST /v1/identities", { json: { ...identity, thread_history_depth } }, [422, "invalid_request"]);
    }
    await refused("POST /v1/identities", { json: { ...identity, email_address: "a@example.com" } }, [
      422,
      "invalid_request",
    ]);
    await refused("POST /v1/identities", { json: { ...identity, display_name: "A\r\nBcc: x@y.z" } }, [
      422,
      "invalid_request",
    ]);
  });
});
