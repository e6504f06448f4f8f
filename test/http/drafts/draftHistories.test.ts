import { expect } from "chai";
import { lineDiff } from "#src/html/compare/compareVersions.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { sharedThreads } from "#test/support/sharedThreads.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("http: draft histories", () => {
  let service: InProcess;
  let tenant: StoryTenant;

  before(async () => {
    ({ service, tenant } = await startStory());
  });
  after(() => service.stop());

  const submitted = async (content = {}) =>
    tenant.draft(await tenant.mail(), { body_text: "one\ntwo\nthree\n", ...content });
  const typesOf = (history: { type: string }[]) => history.map(({ type }) => type);

  it("the history of a sent draft has its whole life in order: its events, the claim, the delivery", async () => {
    const draft = await submitted({ metadata: { camelCase: { tokens: 1 } } });
    await draft.edit({ body_text: "edited" });
    await draft.approve();
    await draft.sendNow();
    const { status, json } = await draft.ask("GET history?limit=100");
    expect(status).to.equal(200);
    // The places of these two vary: the rules run in parallel with the edit, and the outbox confirms at any time.
    const anywhere = ["DraftRulesApplied", "DeliveryDelivered"];
    const types = typesOf(json.data).filter((type) => !anywhere.includes(type));
    expect(types).to.deep.equal([
      "DraftSubmitted",
      "DraftEdited",
      "DraftApproved",
      "SendClaimed",
      "DraftQueued",
      "DeliveryStarted",
      "DeliveryAccepted",
      "DraftSent",
    ]);
    const positions = json.data.map(({ position }: any) => position);
    expect(positions).to.deep.equal(positions.toSorted((a: number, b: number) => a - b));
    expect(json.total).to.equal(json.data.length);
    const [first] = json.data;
    expect(first.actor).to.deep.include({ kind: "api_key", name: "test key" });
    expect(first.actor.request_id).to.be.a("string");
    expect(first.data.metadata).to.deep.equal({ camelCase: { tokens: 1 } });
    expect(first.data.content.body_text).to.equal("one\ntwo\nthree\n");
    expect(first.data).to.include({ content_sha256: draft.json.content_sha256, thread_id: draft.json.thread_id });
  });

  it("a history shows no token, no secret and no internal handle", async () => {
    const approvalChannel = { type: "email" as const, config: { to: "boss@customer.example" } };
    const to = await tenant.newIdentity({ approvalChannel });
    const draft = await tenant.draft(await tenant.mail({ to }), { body_text: "x".repeat(50_000) });
    await draft.asked();
    const { json, text } = await draft.ask("GET history");
    const asked = json.data.find(({ type }: any) => type === "ApproversAsked");
    expect(asked.data).to.include.keys("notification_id", "version", "expires_at");
    const stored = await service.deps.store.read(`draft-${draft.id}`);
    const tokens = stored.find(({ type }) => type === "ApproversAsked")!.data.tokens as { sha256: string }[];
    expect(tokens).to.have.length.greaterThan(0);
    for (const { sha256 } of tokens) expect(text).not.to.contain(sha256);
    expect(text).not.to.match(/token|blob|fence|instance_id/i);
    expect(json.data[0].data.content.body_text).to.have.length(50_000);
  });

  it("a history is paged", async () => {
    const draft = await submitted();
    await draft.edit({ body_text: "2" });
    await draft.edit({ body_text: "3" });
    const whole = (await draft.ask("GET history")).json;
    const { json } = await draft.ask("GET history?limit=1&offset=1");
    expect(json).to.include({ limit: 1, offset: 1 });
    expect(json.total).to.be.at.least(3);
    expect(json.data).to.deep.equal([whole.data[1]]);
  });

  it("a history does not show the claims of another draft on the same thread", async () => {
    const mail = await tenant.mail();
    const [draft, other] = [await tenant.draft(mail), await tenant.draft(mail, { body_text: "other" })];
    await other.send();
    expect(typesOf(await other.history())).to.include("SendClaimed");
    expect(typesOf(await draft.history())).not.to.include("SendClaimed");
  });

  it("an earlier state of a draft is read by version, byte for byte as it was", async () => {
    const draft = await submitted();
    const second = await draft.edit({ body_text: "second", subject_override: "Second" });
    await draft.edit({ body_text: "third" });
    const { status, json, headers } = await draft.ask("GET ?version=2");
    expect(status).to.equal(200);
    expect(json).to.include({
      version: 2,
      body_text: "second",
      subject: "Second",
      content_sha256: second.content_sha256,
      status: "pending",
    });
    expect(headers.get("etag")).to.equal('"2"');
    const { json: first } = await draft.ask("GET ?version=1");
    expect(first).to.include({ body_text: draft.json.body_text, content_sha256: draft.json.content_sha256 });
    const { json: today } = await draft.ask("GET ?version=3");
    expect(today).to.deep.equal(await draft.read());
  });

  it("an earlier state of a draft is read by time", async () => {
    const draft = await submitted();
    await draft.edit({ body_text: "later" });
    const editedAt = (await draft.history()).find(({ type }) => type === "DraftEdited").at;
    const at = async (time: string) => draft.ask(`GET ?at=${encodeURIComponent(time)}`);
    expect((await at(draft.json.created_at)).json).to.include({ version: 1, body_text: draft.json.body_text });
    const shortlyBefore = new Date(Date.parse(editedAt) - 1).toISOString();
    expect((await at(shortlyBefore)).json.version).to.equal(1);
    const now = service.clock.now().toISOString().replace("Z", "+00:00");
    expect((await at(now)).json).to.include({ version: 2, body_text: "later" });
    const before = await at(new Date(Date.parse(draft.json.created_at) - 1).toISOString());
    expect(before.outcome).to.equal("404 not_found");
  });

  it("an earlier state of a draft does not know of a message that came later", async () => {
    const mail = await tenant.mail();
    const draft = await tenant.draft(mail);
    const newer = await tenant.mail({ inReplyTo: mail, text: "newer" });
    expect((await draft.read()).newer_message_id).to.equal(newer.messageId);
    const { json } = await draft.ask(`GET ?at=${draft.json.created_at}`);
    expect(json.newer_message_id).to.equal(null);
  });

  it("an earlier state of a draft needs read:audit, a version or a time but not both, and a version that exists", async () => {
    const draft = await submitted();
    const key = await tenant.keyOf(["read:threads"]);
    for (const query of ["version=1", "at=2100-01-01T00:00:00Z"]) {
      const { outcome } = await draft.ask(`GET ?${query}`, { key });
      expect(outcome, query).to.equal("401 insufficient_scope");
    }
    for (const part of ["history", "diff?from=1&to=1"]) {
      expect((await draft.ask(`GET ${part}`, { key })).status, part).to.equal(401);
    }
    expect((await draft.ask("GET content?version=1", { key })).status).to.equal(200);
    for (const [query, expected] of [
      ["version=2", 404],
      ["version=0", 422],
      ["at=now", 422],
      ["at=2100-01-01T00:00:00Z", 422],
      ["at=2020-01-01T00:00:00Z&version=1", 422],
    ] as const) {
      expect((await draft.ask(`GET ?${query}`)).status, query).to.equal(expected);
    }
    expect((await draft.ask("GET content?version=2")).status).to.equal(404);
  });

  it("the difference of two versions names the changed fields, texts line by line", async () => {
    const draft = await submitted();
    await draft.edit({ body_text: "one\n2\nthree\n", cc: ["c@x.example"] });
    const { status, json } = await draft.ask("GET diff?from=1&to=2");
    expect(status).to.equal(200);
    expect(json).to.deep.equal({
      draft_id: draft.id,
      from: 1,
      to: 2,
      versions: {
        from: `/v1/drafts/${draft.id}/content?version=1`,
        to: `/v1/drafts/${draft.id}/content?version=2`,
      },
      truncated: false,
      changes: [
        {
          field: "body_text",
          from: "one\ntwo\nthree\n",
          to: "one\n2\nthree\n",
          lines: [
            { change: "same", text: "one" },
            { change: "removed", text: "two" },
            { change: "added", text: "2" },
            { change: "same", text: "three" },
          ],
        },
        { field: "cc", from: [], to: ["c@x.example"], lines: null },
      ],
    });
    const same = await draft.ask("GET diff?from=2&to=2");
    expect(same.json.changes).to.deep.equal([]);
  });

  it("the difference of two versions needs both, and both have to exist", async () => {
    const draft = await submitted();
    for (const [query, status, field] of [
      ["from=1", 422, "to"],
      ["from=1&to=2", 404, "to"],
      ["from=2&to=1", 404, "from"],
      ["from=a&to=1", 422, "from"],
    ] as const) {
      const answer = await draft.ask(`GET diff?${query}`);
      expect([answer.status, answer.json.message.split(":")[0]], query).to.deep.equal([status, field]);
    }
  });

  it("the difference of 250 KB of short lines is found in a worker thread; its answer is bounded, and says where both versions are", async () => {
    const draft = await submitted({ body_text: "a\n".repeat(125_000) });
    await draft.edit({ body_text: "b\n".repeat(125_000), rationale: "Other letters." });
    const begun = sharedThreads().counts().begun;
    const { status, json } = await draft.ask("GET diff?from=1&to=2");
    expect(sharedThreads().counts().begun).to.be.above(begun);
    expect(status).to.equal(200);
    expect(json.truncated).to.equal(true);
    const [text, rationale] = json.changes;
    expect(text).to.include({ field: "body_text", from: null, to: null });
    expect(text.lines[0]).to.deep.equal({ change: "removed", text: "a" });
    expect(text.lines).to.have.length(2_000);
    expect(rationale).to.deep.equal({ field: "rationale", from: null, to: null, lines: [] });
    const versions = await Promise.all([json.versions.from, json.versions.to].map((path) => tenant.ask(`GET ${path}`)));
    expect(versions.map(({ json: { body_text } }) => body_text.slice(0, 2))).to.deep.equal(["a\n", "b\n"]);
  });

  it("the difference of two versions has at most 256 KB", async () => {
    const line = `${"long ".repeat(200)}\n`;
    const draft = await submitted({ body_text: line.repeat(200) });
    await draft.edit({ body_text: `${line.repeat(200)}more\n` });
    const { json } = await draft.ask("GET diff?from=1&to=2");
    expect(json.truncated).to.equal(true);
    expect(JSON.stringify(json.changes).length).to.be.within(200 * 1024, 257 * 1024);
  });

  const shown = (from: string, to: string) =>
    lineDiff(from, to).map(({ change, text }) => `${{ same: " ", removed: "-", added: "+" }[change]}${text}`);
  const breaks: [what: string, from: string, to: string, lines: string[]][] = [
    ["a line break at the end came", "a\nb", "a\nb\n", [" a", " b"]],
    ["a line break at the end went", "a\nb\n", "a\nb", [" a", " b"]],
    ["a blank line at the end came", "a\nb", "a\nb\n\n", [" a", " b", "+"]],
    ["a line came below a text without a last line break", "a\nb", "a\nb\nc\n", [" a", " b", "+c"]],
    ["the last line changed, and its line break came", "a\nb", "a\nc\n", [" a", "-b", "+c"]],
    ["the first line went, and the last line break came", "x\nb", "b\n", ["-x", " b"]],
    ["other line breaks", "a\r\nb\r\n", "a\nb", [" a", " b"]],
  ];
  for (const [what, from, to, lines] of breaks)
    it(`a line that reads the same is neither removed nor added: ${what}`, () => {
      expect(shown(from, to)).to.deep.equal(lines);
    });

  it("a version that differs in line breaks alone is listed as changed, and no line of it", async () => {
    const draft = await submitted({ body_text: "one\ntwo" });
    await draft.edit({ body_text: "one\ntwo\n" });
    const { json } = await draft.ask("GET diff?from=1&to=2");
    const lines = ["one", "two"].map((text) => ({ change: "same", text }));
    expect(json.changes).to.deep.equal([{ field: "body_text", from: "one\ntwo", to: "one\ntwo\n", lines }]);
  });

  it("the difference of two texts that have nothing in common shows all of both, without matching lines", () => {
    const text = (name: string) => Array.from({ length: 60_000 }, (_, n) => `${name}${n}`).join("\n");
    const lines = lineDiff(text("a"), text("b"));
    expect(lines).to.have.length(120_000);
    expect(lines[0]).to.deep.equal({ change: "removed", text: "a0" });
    expect(lines.at(-1)).to.deep.equal({ change: "added", text: "b59999" });
  });
});
