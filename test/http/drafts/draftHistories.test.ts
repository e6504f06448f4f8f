import { expect } from "chai";
import { lineDiff } from "#src/html/compare/compareVersions.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { sharedThreads } from "#test/support/sharedThreads.ts";

describe("draft histories over HTTP", () => {
  let service: InProcess;
  let workspace: Workspace;
  let identity: Identity;
  let mails = 0;

  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
    identity = await service.identity(workspace.id);
  });
  after(() => service.stop());

  async function submitted(different: Record<string, unknown> = {}, to = identity) {
    await service.deliver(to.address, mail({ id: `h${++mails}@x.example` }));
    const thread = (await workspace.ask("GET /v1/threads?limit=1")).json.data[0];
    const { json: messages } = await workspace.ask(`GET /v1/threads/${thread.id}/messages`);
    const ids = { thread_id: thread.id, identity_id: to.id, based_on_message_id: messages.data[0].id };
    const body = { ...ids, body_text: "one\ntwo\nthree\n", ...different };
    const { status, json } = await workspace.ask("POST /v1/drafts", { json: body });
    expect(status, JSON.stringify(json)).to.equal(201);
    return json;
  }
  const edit = async (id: string, json: unknown) => (await workspace.ask(`PATCH /v1/drafts/${id}`, { json })).json;

  describe("the history", () => {
    it("holds a sent draft's whole life in order: its events, the claim, the delivery", async () => {
      const draft = await submitted({ metadata: { camelCase: { tokens: 1 } } });
      await edit(draft.id, { body_text: "edited" });
      await workspace.ask(`POST /v1/drafts/${draft.id}/approve`);
      await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
      await until(async () => (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent");
      const { status, json } = await workspace.ask(`GET /v1/drafts/${draft.id}/history?limit=100`);
      expect(status).to.equal(200);
      // These two have no fixed place: the rules run beside the edit, the outbox confirms when it likes.
      const anywhere = ["DraftRulesApplied", "DeliveryDelivered"];
      const types: string[] = json.data.map(({ type }: any) => type).filter((type: string) => !anywhere.includes(type));
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
      expect(first.data).to.include({ content_sha256: draft.content_sha256, thread_id: draft.thread_id });
    });

    it("shows no token, no secret and no inner handle", async () => {
      const approvalChannel = { type: "email" as const, config: { to: "boss@customer.example" } };
      const notifying = await service.identity(workspace.id, { approvalChannel });
      const draft = await submitted({ body_text: "x".repeat(50_000) }, notifying);
      await until(async () => {
        const { json } = await workspace.ask(`GET /v1/drafts/${draft.id}`);
        return json.notification_status.state === "sent";
      });
      const { json, text } = await workspace.ask(`GET /v1/drafts/${draft.id}/history`);
      const asked = json.data.find(({ type }: any) => type === "ApproversAsked");
      expect(asked.data).to.include.keys("notification_id", "version", "expires_at");
      const stored = await service.deps.store.read(`draft-${draft.id}`);
      const tokens = stored.find(({ type }) => type === "ApproversAsked")!.data.tokens as { sha256: string }[];
      expect(tokens).to.have.length.greaterThan(0);
      for (const { sha256 } of tokens) expect(text).not.to.contain(sha256);
      expect(text).not.to.match(/token|blob|fence|instance_id/i);
      expect(json.data[0].data.content.body_text).to.have.length(50_000);
    });

    it("is paged", async () => {
      const draft = await submitted();
      await edit(draft.id, { body_text: "2" });
      await edit(draft.id, { body_text: "3" });
      const whole = (await workspace.ask(`GET /v1/drafts/${draft.id}/history`)).json;
      const { json } = await workspace.ask(`GET /v1/drafts/${draft.id}/history?limit=1&offset=1`);
      expect(json).to.include({ limit: 1, offset: 1 });
      expect(json.total).to.be.at.least(3);
      expect(json.data).to.deep.equal([whole.data[1]]);
    });

    it("keeps to this draft: another draft's claims on the same thread do not show", async () => {
      const draft = await submitted();
      const { thread_id, identity_id, based_on_message_id } = draft;
      const body = { thread_id, identity_id, based_on_message_id, body_text: "other" };
      const { json: other } = await workspace.ask("POST /v1/drafts", { json: body });
      await workspace.ask(`POST /v1/drafts/${other.id}/send`);
      const { json: others } = await workspace.ask(`GET /v1/drafts/${other.id}/history`);
      expect(others.data.map(({ type }: any) => type)).to.include("SendClaimed");
      const { json } = await workspace.ask(`GET /v1/drafts/${draft.id}/history`);
      expect(json.data.map(({ type }: any) => type)).not.to.include("SendClaimed");
    });
  });

  describe("earlier states", () => {
    it("are answered by version, byte for byte as they were", async () => {
      const draft = await submitted();
      const second = await edit(draft.id, { body_text: "second", subject_override: "Second" });
      await edit(draft.id, { body_text: "third" });
      const { status, json, headers } = await workspace.ask(`GET /v1/drafts/${draft.id}?version=2`);
      expect(status).to.equal(200);
      expect(json).to.include({
        version: 2,
        body_text: "second",
        subject: "Second",
        content_sha256: second.content_sha256,
        status: "pending",
      });
      expect(headers.get("etag")).to.equal('"2"');
      const { json: first } = await workspace.ask(`GET /v1/drafts/${draft.id}?version=1`);
      expect(first).to.include({ body_text: draft.body_text, content_sha256: draft.content_sha256 });
      const { json: today } = await workspace.ask(`GET /v1/drafts/${draft.id}?version=3`);
      expect(today).to.deep.equal((await workspace.ask(`GET /v1/drafts/${draft.id}`)).json);
    });

    it("are answered by time", async () => {
      const draft = await submitted();
      await edit(draft.id, { body_text: "later" });
      const { json: history } = await workspace.ask(`GET /v1/drafts/${draft.id}/history`);
      const editedAt = history.data.find(({ type }: any) => type === "DraftEdited").at;
      const at = async (time: string) => workspace.ask(`GET /v1/drafts/${draft.id}?at=${encodeURIComponent(time)}`);
      expect((await at(draft.created_at)).json).to.include({ version: 1, body_text: draft.body_text });
      const shortlyBefore = new Date(Date.parse(editedAt) - 1).toISOString();
      expect((await at(shortlyBefore)).json.version).to.equal(1);
      expect((await at("2100-01-01T00:00:00+02:00")).json).to.include({ version: 2, body_text: "later" });
      const before = await at(new Date(Date.parse(draft.created_at) - 1).toISOString());
      expect([before.status, before.json.error]).to.deep.equal([404, "not_found"]);
    });

    it("do not know of a message that came later", async () => {
      const draft = await submitted();
      await service.deliver(
        identity.address,
        mail({ id: `late${mails}@x.example`, inReplyTo: `h${mails}@x.example`, text: "newer" }),
      );
      const { json: today } = await workspace.ask(`GET /v1/drafts/${draft.id}`);
      expect(today.newer_message_id).to.be.a("string");
      const { json } = await workspace.ask(`GET /v1/drafts/${draft.id}?at=${draft.created_at}`);
      expect(json.newer_message_id).to.equal(null);
    });

    it("need read:audit, one question at a time, and a version that exists", async () => {
      const draft = await submitted();
      const key = await workspace.keyOf(["read:threads"]);
      await service.caughtUp();
      for (const query of ["version=1", "at=2100-01-01T00:00:00Z"]) {
        const { status, json } = await workspace.ask(`GET /v1/drafts/${draft.id}?${query}`, { key });
        expect([status, json.error], query).to.deep.equal([401, "insufficient_scope"]);
      }
      for (const part of ["history", "diff?from=1&to=1"]) {
        expect((await workspace.ask(`GET /v1/drafts/${draft.id}/${part}`, { key })).status, part).to.equal(401);
      }
      expect((await workspace.ask(`GET /v1/drafts/${draft.id}/content?version=1`, { key })).status).to.equal(200);
      for (const [query, expected] of [
        ["version=2", 404],
        ["version=0", 422],
        ["at=now", 422],
        ["at=2100-01-01T00:00:00Z&version=1", 422],
      ] as const) {
        expect((await workspace.ask(`GET /v1/drafts/${draft.id}?${query}`)).status, query).to.equal(expected);
      }
      expect((await workspace.ask(`GET /v1/drafts/${draft.id}/content?version=2`)).status).to.equal(404);
    });
  });

  describe("the difference of two versions", () => {
    it("names the changed fields, texts line by line", async () => {
      const draft = await submitted();
      await edit(draft.id, { body_text: "one\n2\nthree\n", cc: ["c@x.example"] });
      const { status, json } = await workspace.ask(`GET /v1/drafts/${draft.id}/diff?from=1&to=2`);
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
      const same = await workspace.ask(`GET /v1/drafts/${draft.id}/diff?from=2&to=2`);
      expect(same.json.changes).to.deep.equal([]);
    });

    it("needs both versions, and both have to exist", async () => {
      const draft = await submitted();
      for (const [query, status, field] of [
        ["from=1", 422, "to"],
        ["from=1&to=2", 404, "to"],
        ["from=2&to=1", 404, "from"],
        ["from=a&to=1", 422, "from"],
      ] as const) {
        const answer = await workspace.ask(`GET /v1/drafts/${draft.id}/diff?${query}`);
        expect([answer.status, answer.json.message.split(":")[0]], query).to.deep.equal([status, field]);
      }
    });

    it("of 250 KB of short lines is found in a thread; its answer is bounded, and says where both versions are", async () => {
      const draft = await submitted({ body_text: "a\n".repeat(125_000) });
      await edit(draft.id, { body_text: "b\n".repeat(125_000), rationale: "Other letters." });
      const begun = sharedThreads().counts().begun;
      const { status, json } = await workspace.ask(`GET /v1/drafts/${draft.id}/diff?from=1&to=2`);
      expect(sharedThreads().counts().begun).to.be.above(begun);
      expect(status).to.equal(200);
      expect(json.truncated).to.equal(true);
      const [text, rationale] = json.changes;
      expect(text).to.include({ field: "body_text", from: null, to: null });
      expect(text.lines[0]).to.deep.equal({ change: "removed", text: "a" });
      expect(text.lines).to.have.length(2_000);
      expect(rationale).to.deep.equal({ field: "rationale", from: null, to: null, lines: [] });
      const versions = await Promise.all(
        [json.versions.from, json.versions.to].map((path) => workspace.ask(`GET ${path}`)),
      );
      expect(versions.map(({ json: { body_text } }) => body_text.slice(0, 2))).to.deep.equal(["a\n", "b\n"]);
    });

    it("has at most 256 KB", async () => {
      const line = `${"long ".repeat(200)}\n`;
      const draft = await submitted({ body_text: line.repeat(200) });
      await edit(draft.id, { body_text: `${line.repeat(200)}more\n` });
      const { json } = await workspace.ask(`GET /v1/drafts/${draft.id}/diff?from=1&to=2`);
      expect(json.truncated).to.equal(true);
      expect(JSON.stringify(json.changes).length).to.be.within(200 * 1024, 257 * 1024);
    });

    it("gives up on matching lines where everything differs, and still shows all of both", () => {
      const text = (name: string) => Array.from({ length: 60_000 }, (_, n) => `${name}${n}`).join("\n");
      const lines = lineDiff(text("a"), text("b"));
      expect(lines).to.have.length(120_000);
      expect(lines[0]).to.deep.equal({ change: "removed", text: "a0" });
      expect(lines.at(-1)).to.deep.equal({ change: "added", text: "b59999" });
    });
  });
});
