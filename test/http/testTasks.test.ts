import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { asking } from "#test/support/asking.ts";
import { chatDouble } from "#test/support/chatDouble.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import { startSecondInstance } from "#test/support/secondInstance.ts";
import { openTenant, type StoryTenant, startStory } from "#test/support/story/story.ts";

describe("test mails and their tasks [d6 test-email]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  const chat = chatDouble("slack");
  const { tell } = chat.channel;

  before(async () => {
    ({ service, tenant } = await startStory({}, { channels: { slack: chat.channel } }));
  });
  after(() => service.stop());

  const test = (id = tenant.identity.id, json: object = { recipient_email: "me@office.example" }, { ask } = tenant) =>
    ask(`POST /v1/identities/${id}/test-email`, { json });
  const taskOf = async (id: string) => (await tenant.ask(`GET /v1/tasks/${id}`)).json;
  const finished = async (id: string) => {
    await until(async () => (await taskOf(id)).finished_at !== null);
    return taskOf(id);
  };
  const pause = (sending_paused: boolean) => tenant.ask("PATCH /v1/workspaces/me", { json: { sending_paused } });
  const usage = async () => (await tenant.ask("GET /v1/workspaces/me")).json.emails_sent_this_period;

  it("a test mail is sent as any mail, counts towards the plan, and its task succeeds [4 POST /v1/identities/{id}/test-email]", async () => {
    const before = await usage();
    const recipient = `${randomUUID()}@office.example`;
    const { status, json } = await test(undefined, { recipient_email: recipient });
    expect(status, JSON.stringify(json)).to.equal(202);
    expect(Object.keys(json)).to.deep.equal(["task_id"]);
    expect(await taskOf(json.task_id)).to.include({ id: json.task_id, kind: "test_email", error: null });
    const task = await finished(json.task_id);
    expect(task).to.include({ status: "succeeded", error: null });
    expect(Date.parse(task.finished_at)).to.be.at.least(Date.parse(task.created_at));
    expect((await service.outbox.newest(20)).filter(({ envelope }) => envelope.to.includes(recipient))).to.have.length(
      1,
    );
    expect(await usage()).to.equal(before + 1);
    const draft = await tenant.draftWithId(json.task_id);
    expect(draft.json).to.include({ kind: "test_email", status: "sent" });
    expect(draft.json.decided_by.kind).to.equal("api_key");
  });

  it("a test mail's thread is not listed until somebody answers it", async () => {
    const { json } = await test();
    await finished(json.task_id);
    const { threadId } = await tenant.draftWithId(json.task_id);
    await until(async () => (await tenant.thread(threadId)).message_count === 1);
    const listed = async () =>
      (await tenant.ask("GET /v1/threads?limit=100")).json.data.map(({ id }: any) => id).includes(threadId);
    expect(await listed()).to.equal(false);
    const { messages } = await tenant.thread(threadId);
    await tenant.mail({ from: "me@office.example", inReplyTo: messages[0].rfc_message_id.slice(1, -1) });
    expect(await listed()).to.equal(true);
  });

  it("a test mail needs an active identity of this workspace and one address [7 422 identity_not_active]", async () => {
    const disabled = await tenant.newIdentity({ status: "disabled" });
    expect((await test(disabled.id)).outcome).to.equal("422 identity_not_active");
    const stranger = await openTenant(service);
    for (const id of [stranger.identity.id, randomUUID(), "x"]) expect((await test(id)).status, id).to.equal(404);
    for (const json of [
      {},
      { recipient_email: "x" },
      { recipient_email: "a@x.example, b@x.example" },
      { recipient_email: null },
    ]) {
      const answer = await test(undefined, json);
      expect(answer.status, JSON.stringify(json)).to.equal(422);
      expect(answer.json.field).to.equal("recipient_email");
    }
  });

  it("a test mail waits for approval if the identity requires a person, and its task fails when it is rejected", async () => {
    const guarded = await tenant.newIdentity({ requireHumanApproval: true });
    const { json } = await test(guarded.id);
    expect(await taskOf(json.task_id)).to.include({ status: "pending", finished_at: null, error: null });
    await (await tenant.draftWithId(json.task_id)).reject("not now");
    expect(await finished(json.task_id)).to.include({ status: "failed", error: "rejected: not now" });
  });

  it("a test mail is refused while sending is paused", async () => {
    await pause(true);
    expect((await test()).json.error).to.equal("sending_paused");
    await pause(false);
    expect((await test()).status).to.equal(202);
  });

  it("another workspace's task is not found, nor is a draft that is no test mail", async () => {
    const { json } = await test();
    const stranger = await service.workspace();
    expect((await stranger.ask(`GET /v1/tasks/${json.task_id}`)).status).to.equal(404);
    const { threadId } = await tenant.mail();
    const reply = await tenant.ask("POST /v1/emails/reply", { json: { thread_id: threadId, body_text: "Hi" } });
    expect(reply.status).to.equal(202);
    for (const id of [reply.json.draft_id, randomUUID(), "x"]) {
      expect((await tenant.ask(`GET /v1/tasks/${id}`)).status, id).to.equal(404);
    }
  });

  it("test mails are limited to 10 a minute and key [8 POST /identities/{id}/test-email]", async () => {
    const { identity, key } = await openTenant(service);
    const path = `POST /v1/identities/${identity.id}/test-email`;
    // An instance with the default limit.
    const limited = await startSecondInstance(service.urls, { RATE_LIMIT_TEST_EMAIL: "", ROLES: "api" });
    const ask = asking(limited.url, key);
    try {
      const send = () => ask(path, { json: { recipient_email: "me@office.example" } });
      for (let n = 0; n < 10; n++) expect((await send()).status, `${n}`).to.equal(202);
      const over = await send();
      expect(over.outcome).to.equal("429 rate_limited");
      expect(Number(over.headers.get("retry-after"))).to.be.within(1, 60);
      expect((await ask("GET /v1/identities")).status).to.equal(200);
    } finally {
      await limited.stop();
    }
  });

  it("a test mail needs write:identities, and its task read:identities [5 scopes]", async () => {
    const reader = tenant.withKey(await tenant.keyOf(["read:identities"]));
    const writer = tenant.withKey(await tenant.keyOf(["write:identities"]));
    expect((await test(undefined, undefined, reader)).json.error).to.equal("insufficient_scope");
    const { status, json } = await test(undefined, { recipient_email: "a@x.example" }, writer);
    expect(status).to.equal(202);
    const path = `GET /v1/tasks/${json.task_id}`;
    expect((await writer.ask(path)).json.error).to.equal("insufficient_scope");
    expect((await reader.ask(path)).status).to.equal(200);
  });

  describe("test notifications to approvers", () => {
    const email = (to: string) => ({ type: "email", config: { to } }) as const;
    const slack = { type: "slack", config: { webhook_url: "https://hooks.slack.com/services/T/B/X" } } as const;
    const notify = (id: string, json: object = {}, { ask }: Pick<StoryTenant, "ask"> = tenant) =>
      ask(`POST /v1/identities/${id}/test-notification`, { json });
    const mailsTo = async (to: string) =>
      (await service.outbox.newest(50)).filter(({ envelope }) => envelope.to.includes(to));

    it("a test notification arrives in the approver's mailbox, has no approval link and is not counted", async () => {
      const before = await usage();
      const to = `${randomUUID()}@office.example`;
      const identity = await tenant.newIdentity({ approvalChannel: email(to) });
      const { status, json } = await notify(identity.id);
      expect(status, JSON.stringify(json)).to.equal(202);
      expect(await finished(json.task_id)).to.include({ kind: "test_notification", status: "succeeded", error: null });
      const [caught, ...more] = await mailsTo(to);
      expect(more).to.deep.equal([]);
      expect(caught?.subject).to.equal("Test notification");
      expect(caught?.text).to.include("/stop/").and.not.to.include("/a/");
      expect(await usage()).to.equal(before);
    });

    it("a test notification uses the named channel and is retried; its task shows the provider's error", async () => {
      const approvers = { approvalChannel: email("ann@office.example"), secondaryApprovalChannel: slack };
      const identity = await tenant.newIdentity(approvers);
      const asked = chat.told.length;
      chat.channel.tell = async () => ({ reached: false, error: "Slack: <b>rate_limited</b>", again: true });
      const { json } = await notify(identity.id, { channel: "secondary" });
      await until(async () => (await taskOf(json.task_id)).error !== null);
      expect(await taskOf(json.task_id)).to.include({ status: "running", error: "Slack: <b>rate_limited</b>" });
      chat.channel.tell = tell!;
      service.clock.advance(130_000);
      expect(await finished(json.task_id)).to.include({ status: "succeeded", error: null });
      expect(chat.told.slice(asked)).to.have.length(1);
      expect(chat.told.at(-1)?.lines.join(" ")).to.include(identity.address);
    });

    it("a test notification fails if the channel was changed after it was asked for", async () => {
      const identity = await tenant.newIdentity({ approvalChannel: slack });
      chat.channel.tell = async () => ({ reached: false, error: "busy", again: true });
      const { json } = await notify(identity.id);
      await until(async () => (await taskOf(json.task_id)).error !== null);
      const other = `${randomUUID()}@office.example`;
      await tenant.ask(`PATCH /v1/identities/${identity.id}`, { json: { approval_channel: email(other) } });
      chat.channel.tell = tell!;
      const told = chat.told.length;
      service.clock.advance(130_000);
      const { status, error } = await finished(json.task_id);
      expect([status, error]).to.deep.equal([
        "failed",
        "the approval channel changed after this test was requested: send another test",
      ]);
      expect([chat.told.length, await mailsTo(other)]).to.deep.equal([told, []]);
    });

    it("a test notification fails while sending is paused, and its task says so", async () => {
      const identity = await tenant.newIdentity({ approvalChannel: slack });
      await pause(true);
      const { json } = await notify(identity.id);
      expect((await finished(json.task_id)).error).to.match(/^sending is paused in this workspace/);
      await pause(false);
    });

    it("a test notification fails at once if a retry cannot help", async () => {
      const identity = await tenant.newIdentity({ approvalChannel: slack });
      chat.channel.tell = async () => ({ reached: false, error: "channel_is_archived", again: false });
      const { json } = await notify(identity.id);
      expect(await finished(json.task_id)).to.include({ status: "failed", error: "channel_is_archived" });
      chat.channel.tell = tell!;
    });

    it("a test notification needs a channel and an identity of this workspace; its task belongs to that workspace", async () => {
      const none = await tenant.newIdentity();
      const { outcome, json } = await notify(none.id);
      expect([outcome, json.field]).to.deep.equal(["422 invalid_request", "channel"]);
      expect((await notify(none.id, { channel: "third" })).status).to.equal(422);
      const stranger = await service.workspace();
      expect((await notify(none.id, {}, stranger)).status).to.equal(404);
      const identity = await tenant.newIdentity({ approvalChannel: slack });
      const task = (await notify(identity.id)).json.task_id;
      expect((await stranger.ask(`GET /v1/tasks/${task}`)).status).to.equal(404);
      expect((await finished(task)).status).to.equal("succeeded");
    });
  });
});
