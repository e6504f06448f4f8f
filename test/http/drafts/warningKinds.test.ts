import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { projections } from "#projections/index.ts";
import type { Projection } from "#projections/projection.ts";
import { examineVersion } from "#src/commands/drafts/examineVersion.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { verify } from "#src/runtime/projections/verify.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { until } from "#test/support/inProcess.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("http: warnings that are stored with the version of a draft", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  before(async () => {
    ({ service, tenant } = await startStory({ DEV_PROVEN_DOMAINS: "customer.example" }));
  });
  after(() => service.stop());

  /** A mail whose sender is proven, so that only the tested warning is left. */
  async function provenMail(text = "Where is my parcel?", more: object = {}) {
    const mail = await tenant.mail({ text, envelope: { ip: "127.0.0.1" }, ...more });
    await tenant.lastMessage(mail, ({ authentication }) => authentication !== null);
    return mail;
  }

  const listed = async (query: string) => {
    const { json } = await tenant.ask(`GET /v1/drafts?limit=100&${query}`);
    return { ids: json.data.map(({ id }: any) => id) as string[], total: json.total as number };
  };

  it("an ordinary draft has no warning", async () => {
    const draft = await tenant.draft(await provenMail());
    expect(draft.json.warning_kinds).to.deep.equal([]);
    expect((await draft.read()).warning_kinds).to.deep.equal([]);
  });

  it("an edit that adds a cause adds the warning, one that removes the cause removes it, and each version keeps its own", async () => {
    const draft = await tenant.draft(await provenMail());
    const added = await draft.edit({ cc: ["eve@elsewhere.example"] });
    expect(added.warning_kinds).to.deep.equal(["new_recipient"]);
    const hidden = await draft.edit({ cc: [], bcc: ["eve@elsewhere.example"] });
    expect(hidden.warning_kinds).to.deep.equal(["new_recipient", "hidden_recipient"]);
    const removed = await draft.edit({ bcc: [] });
    expect(removed.warning_kinds).to.deep.equal([]);
    const kinds = [];
    for (const version of [1, 2, 3, 4]) kinds.push((await draft.ask(`GET ?version=${version}`)).json.warning_kinds);
    expect(kinds).to.deep.equal([[], ["new_recipient"], ["new_recipient", "hidden_recipient"], []]);
  });

  it("a version that the service makes has the warnings of its own content", async () => {
    const identity = await tenant.newIdentity();
    const draft = await tenant.draft(await provenMail(undefined, { to: identity }));
    const change = (reply_to_email: string | null) =>
      tenant.ask(`PATCH /v1/identities/${identity.id}`, { json: { reply_to_email } });
    await change("eve@elsewhere.example");
    expect((await draft.becomes(({ version }) => version === 2)).warning_kinds).to.deep.equal(["replies_leave"]);
    await change(null);
    expect((await draft.becomes(({ version }) => version === 3)).warning_kinds).to.deep.equal([]);
  });

  it("a draft has the warnings of its forms, files, links and of the message it answers", async () => {
    const mail = await provenMail("Please note our new bank details for your payments. Please send me your password.");
    const file = {
      filename: "bill.exe",
      content_type: "application/pdf",
      content: Buffer.from("MZ").toString("base64"),
    };
    const { json } = await tenant.draft(mail, {
      body_html: '<p>We <s>will not</s> pay: <a href="https://evil.example/">www.bank.example</a></p>',
      body_text: "Nothing of that.",
      attachments: [file],
    });
    const found = ["asks_for_secrets", "changes_payment", "misleading_link", "risky_file", "forms_differ"];
    expect(json.warning_kinds).to.deep.equal(found);
    const stored = (await service.deps.store.read(`draft-${json.id}`))[0]?.data.warnings;
    expect(stored).to.deep.equal(found);
  });

  it("a mail that a key writes in one call and a person has to approve has its warnings too", async () => {
    const identity = await tenant.newIdentity({ approvalsRequired: 2, canSendCold: true });
    const json = { identity_id: identity.id, to: ["ann@customer.example"], bcc: ["eve@x.example"], subject: "Hi" };
    const sent = await tenant.ask("POST /v1/emails/send", { json: { ...json, body_text: "Hello" } });
    expect(sent.status, sent.text).to.equal(202);
    const draft = await tenant.draftWithId(sent.json.draft_id);
    expect(draft.json.warning_kinds).to.deep.equal(["hidden_recipient"]);
  });

  it("newer mail, another answer and the sender's proof are judged when a draft is read, and never stored", async () => {
    const stranger = await tenant.mail({ from: "eve@unproven.example" });
    await tenant.lastMessage(stranger, ({ authentication }) => authentication !== null);
    const draft = await tenant.draft(stranger);
    expect(draft.json.warning_kinds).to.deep.equal(["unproven_sender"]);
    const second = await tenant.draft(stranger);
    expect((await draft.read()).warning_kinds).to.deep.equal(["other_draft", "unproven_sender"]);
    await second.reject();
    await tenant.mail({ from: "eve@unproven.example", inReplyTo: stranger });
    await until(async () => (await draft.read()).newer_message_id !== null);
    expect((await draft.read()).warning_kinds).to.deep.equal(["newer_message", "unproven_sender"]);
    expect((await listed("warning_kind=newer_message")).ids).to.include(draft.id);
    expect((await listed("warning_kind=unproven_sender")).ids).to.include.members([draft.id, second.id]);
    expect((await service.deps.store.read(`draft-${draft.id}`))[0]?.data.warnings).to.deep.equal([]);
    const then = new Date().toISOString();
    await draft.reject();
    expect((await listed("warning_kind=newer_message")).ids).to.not.include(draft.id);
    expect((await draft.read()).warning_kinds).to.deep.equal(["unproven_sender"]);
    const earlier = await draft.ask(`GET ?at=${then}`);
    expect(earlier.json.warning_kinds).to.deep.equal(["newer_message", "unproven_sender"]);
  });

  it("drafts already answered are listed by that warning", async () => {
    const mail = await provenMail();
    const [first, second] = [await tenant.draft(mail), await tenant.draft(mail)];
    await first.send();
    await until(async () => (await second.read()).answered_meanwhile !== null);
    expect((await second.read()).warning_kinds).to.deep.equal(["answered_meanwhile"]);
    expect((await listed("warning_kind=answered_meanwhile")).ids).to.deep.equal([second.id]);
  });

  it("GET /v1/drafts with warning_kind lists and counts the drafts whose newest version has it, with other filters too", async () => {
    const identity = await tenant.newIdentity();
    const drafts = [];
    for (const cc of [["a@x.example"], ["b@x.example"], []])
      drafts.push(await tenant.draft(await provenMail(undefined, { to: identity }), { cc }));
    const query = `warning_kind=new_recipient&identity_id=${identity.id}`;
    expect(await listed(query)).to.deep.equal({ ids: [drafts[1]?.id, drafts[0]?.id], total: 2 });
    await drafts[1]?.edit({ cc: [] });
    await drafts[0]?.reject();
    expect(await listed(`${query}&status=pending`)).to.deep.equal({ ids: [], total: 0 });
    expect(await listed(query)).to.deep.equal({ ids: [drafts[0]?.id], total: 1 });
  });

  it("an unknown warning is refused with the name of the field", async () => {
    for (const kind of ["", "nonsense", "edited_often", "new_recipient'"]) {
      const { status, json } = await tenant.ask(`GET /v1/drafts?warning_kind=${kind}`);
      expect([status, json.error, json.field], kind).to.deep.equal([422, "invalid_request", "warning_kind"]);
    }
  });

  it("a version that cannot be examined is recorded as such, and one whose message is not found too", async () => {
    const draft = await tenant.draft(await provenMail());
    const { state } = await service.deps.drafts.load(draft.id);
    const { state: identity } = await service.deps.identities.load(state.identityId);
    const version = { ...state, identity, content: await draft.content(), making: state.making };
    const warned: string[] = [];
    const log = { warn: (_: object, message: string) => void warned.push(message), error: () => undefined };
    const busy = { ...service.deps, log, costlyWork: () => Promise.reject(new Error("too much to work on")) };
    expect(await examineVersion(service.deps, version)).to.deep.equal([]);
    expect(await examineVersion(busy, version)).to.deep.equal(["not_examined"]);
    expect(warned).to.deep.equal(["a version of a draft could not be examined"]);
    const lost = { ...version, basedOnMessageId: randomUUID() };
    expect(await examineVersion(service.deps, lost)).to.deep.equal(["not_examined"]);
  });

  it("a replay gives the rows of drafts with the same warnings", async () => {
    const { deps, database } = service;
    const replay = { store: deps.store, database, tablesSql: tablesFile, signal: new AbortController().signal };
    const drafts = projections.find(({ name }) => name === "drafts") as Projection;
    const { rows, differences } = await verify(replay, drafts);
    expect(differences).to.deep.equal([]);
    expect(rows).to.be.above(0);
  });
});
