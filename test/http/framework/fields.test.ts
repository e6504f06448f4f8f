import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { InProcess } from "#test/support/inProcess.ts";
import { type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("http: refusals and their fields", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let mail: StoryMail;
  let ids: StoryMail["basis"];

  before(async () => {
    ({ service, tenant } = await startStory());
    mail = await tenant.mail();
    ids = mail.basis;
  });
  after(() => service?.stop());

  const slack = { type: "slack", config: { webhook_url: "https://elsewhere.example/x" } };
  const nowhere = randomUUID();
  const body = { body_text: "x" };
  const cases: [string, string, () => object | undefined, number][] = [
    ["POST /v1/drafts", "thread_id", () => ({ ...ids, ...body, thread_id: nowhere }), 404],
    ["POST /v1/drafts", "identity_id", () => ({ ...ids, ...body, identity_id: nowhere }), 404],
    ["POST /v1/drafts", "based_on_message_id", () => ({ ...ids, ...body, based_on_message_id: nowhere }), 404],
    ["POST /v1/drafts", "cc", () => ({ ...ids, ...body, cc: ["a@b.example", "A@b.example"] }), 422],
    ["POST /v1/drafts", "colour", () => ({ ...ids, ...body, colour: "red" }), 422],
    ["GET /v1/drafts?state=pending", "state", () => undefined, 422],
    ["PATCH /v1/identities/{id}", "approval_channel.config.webhook_url", () => ({ approval_channel: slack }), 422],
    ["POST /v1/identities", "local_part", () => taken(), 409],
    ["POST /v1/domains", "domain_name", () => ({ domain_name: "Agents.localhost" }), 409],
  ];
  const taken = () => ({
    ...{ domain_id: ids.identity_id, display_name: "X" },
    local_part: tenant.identity.address.split("@")[0],
  });

  for (const [line, field, json, status] of cases) {
    it(`a refusal of ${line} names ${field}, in its message and in its field [d0 message names the field]`, async () => {
      const given = json();
      if (given && "domain_id" in given) given.domain_id = (await tenant.ask("GET /v1/domains")).json.data[0].id;
      const asked = await tenant.ask(line.replace("{id}", tenant.identity.id), given && { json: given });
      expect([asked.status, asked.json.field], asked.text).to.deep.equal([status, field]);
      expect(asked.json.message.startsWith(`${field}: `), asked.json.message).to.equal(true);
    });
  }

  it("a draft may have null in an optional field, but an empty subject is refused [4 POST /v1/drafts]", async () => {
    const nothing = { body_html: null, subject_override: null, rationale: null, metadata: null };
    const made = await tenant.ask("POST /v1/drafts", { json: { ...ids, ...body, ...nothing } });
    expect(made.status, made.text).to.equal(201);
    expect(made.json).to.deep.include({ body_html: null, subject: "My order", rationale: null, metadata: null });
    const bodiless = await tenant.ask("POST /v1/drafts", { json: { ...ids, body_text: null, body_html: null } });
    expect([bodiless.status, bodiless.json.message]).to.deep.equal([
      422,
      "at least one of body_text and body_html is required",
    ]);
    for (const line of ["POST /v1/drafts", `PATCH /v1/drafts/${made.json.id}`]) {
      const json = { ...(line.startsWith("POST") && { ...ids, ...body }), subject_override: "" };
      const empty = await tenant.ask(line, { json });
      expect([empty.status, empty.json.field], line).to.deep.equal([422, "subject_override"]);
    }
    for (const [query, field] of [
      ["version=2", "version"],
      ["at=2020-01-01T00:00:00Z", "at"],
    ]) {
      const none = await tenant.ask(`GET /v1/drafts/${made.json.id}?${query}`);
      expect([none.status, none.json.field, none.json.message.split(":")[0]]).to.deep.equal([404, field, field]);
    }
    const reply = { thread_id: ids.thread_id, ...body, body_html: null, based_on_message_id: null };
    expect((await tenant.ask("POST /v1/emails/reply", { json: reply })).status).to.equal(202);
    const rejected = await tenant.ask(`POST /v1/drafts/${made.json.id}/reject`, { json: { reason: null } });
    expect([rejected.status, rejected.json.reason]).to.deep.equal([200, null]);
  });

  it("a refused send says that its identity has to be active or is deleted [7 422 identity_not_active]", async () => {
    const draft = await tenant.draft(mail);
    const refused = async () => (await draft.ask("POST send")).json.message;
    await tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, { json: { status: "disabled" } });
    expect(await refused()).to.contain("set its status to active");
    await tenant.ask(`DELETE /v1/identities/${tenant.identity.id}`);
    expect(await refused()).to.contain("has been deleted");
  });
});
