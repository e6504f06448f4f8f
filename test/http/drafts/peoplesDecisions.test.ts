import { expect } from "chai";
import type { ChatPerson, DecisionResult } from "#src/channels/approvalDecisions.ts";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { replyToPress } from "#src/commands/approvals/telegram/pressReplies.ts";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import type { RouteCall } from "#src/http/framework/inProcess.ts";
import type { SessionPrincipal } from "#src/http/framework/principal.ts";
import type { RouteLine } from "#src/http/framework/route.ts";
import type { Role } from "#streams/member/roles.ts";
import { askingAs, personOf } from "#test/attacks/console/askAs.ts";
import { operator } from "#test/support/cause.ts";
import { chatDouble } from "#test/support/chatDouble.ts";
import { type InProcess, until } from "#test/support/inProcess.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { type StoryTenant, startStory } from "#test/support/story/story.ts";

const email = (to: string) => ({ type: "email" as const, config: { to } });
const telegramGroup = { type: "telegram" as const, config: { bot_token: `123:${"a".repeat(35)}`, chat_id: "-100" } };
const telegram = chatDouble("telegram");

let service: InProcess;
let tenant: StoryTenant;
let people: ReturnType<typeof askingAs>;

before(async () => {
  ({ service, tenant } = await startStory({}, { channels: { telegram: telegram.channel } }));
  people = askingAs(service);
});
after(async () => {
  await people.close();
  await service.stop();
});

/** A member, signed in. */
async function member(role: Role, name = `Ann ${role}`) {
  const who = { ...personOf(tenant.id, role), name };
  const { memberId, user } = who;
  const join = { type: "JoinMember", memberId, userId: user.id, email: user.email, role } as const;
  await service.deps.members.handle(tenant.id, join, operator(tenant.id));
  const { revision } = await service.deps.members.load(tenant.id);
  const principal: SessionPrincipal = { ...who, guard: { stream: `member-${tenant.id}`, revision } };
  return {
    principal,
    user,
    /** Asks with the rights that the member had when they joined; `now`: with those of this moment. */
    ask: (line: RouteLine, call: RouteCall = {}) => people.askAs(principal, line, call),
    async now(line: RouteLine, call: RouteCall = {}) {
      const { revision: newest } = await service.deps.members.load(tenant.id);
      return people.askAs({ ...principal, guard: { ...principal.guard!, revision: newest } }, line, call);
    },
  };
}

type Member = Awaited<ReturnType<typeof member>>;

/** A customer's mail to a new identity that requires human approval. */
const received = async (settings: Partial<NewIdentity> = {}) =>
  tenant.mail({ to: await tenant.newIdentity({ requireHumanApproval: true, ...settings }) });

async function pending(settings: Partial<NewIdentity> = {}, content: object = { body_text: "Tomorrow." }) {
  const mail = await received(settings);
  const draft = await tenant.draft(mail, content);
  return { identity: mail.identity, threadId: mail.threadId, draft, id: draft.id };
}

const on = (id: string, more: RouteCall = {}): RouteCall => ({ params: { id }, ...more });
const approve = (who: Member, id: string, ifMatch = 1) => who.now("POST /v1/drafts/:id/approve", on(id, { ifMatch }));
const undo = (who: Member, id: string) => who.now("POST /v1/drafts/:id/undo", on(id));
const ada: ChatPerson = { kind: "telegram", id: "7", name: "Ada" };
const press = (given: { token: string; decision?: "approve" | "reject"; by?: ChatPerson }): Promise<DecisionResult> =>
  approvalDecisions(service.deps).decide({
    ...{ decision: "approve" as const, reason: undefined, ip: undefined, userAgent: undefined, requestId: undefined },
    ...given,
  });
const tenSeconds = () => service.clock.advance(10_000);
const decisionsOf = async (draft: StoryDraft) => (await draft.history()).filter(({ type }) => type === "DraftApproved");
const mailsTo = async (address: string) =>
  (await service.outbox.newest(50)).filter(({ envelope }) => envelope.to.includes(address));
const sentFrom = async (address: string) =>
  (await service.outbox.newest(50)).filter(({ envelope }) => envelope.from === address);

describe("http: a signed-in person and a draft", () => {
  it("a person approves the version that was shown, under human approval, and is named wherever the decision is shown", async () => {
    const ann = await member("approver", "Ann Example");
    const { id, draft, identity } = await pending({ approvalChannel: telegramGroup });
    await until(async () => telegram.askedAbout(id).length > 0);
    expect((await draft.ask("POST approve")).outcome).to.equal("422 human_approval_required");
    const unseen = await ann.now("POST /v1/drafts/:id/approve", on(id));
    expect([unseen.status, unseen.json.field]).to.deep.equal([422, "If-Match"]);
    expect((await approve(ann, id, 2)).status).to.equal(412);

    const { status, json } = await approve(ann, id);
    expect([status, json.status, json.version]).to.deep.equal([200, "approved", 1]);
    expect(Date.parse(json.undo_until)).to.be.greaterThan(service.clock.now().getTime());
    expect(json.decided_by).to.include({
      kind: "session",
      id: ann.user.id,
      name: "Ann Example",
      email: ann.user.email,
    });
    // The same form once more changes nothing, and notifies nobody.
    expect((await approve(ann, id)).json.status).to.equal("approved");
    // The approval can still be undone: the card keeps its buttons, also when one is pressed.
    const { tokens } = telegram.askedAbout(id)[0]!;
    const pressed = await press({ token: tokens.reject, decision: "reject", by: ada });
    expect(replyToPress(pressed)).to.deep.include({ ends: false });
    expect((await undo(ann, id)).json.status).to.equal("pending");
    await approve(ann, id);
    await service.caughtUp();
    expect(telegram.saidOn(id)).to.equal(undefined);
    expect(telegram.askedAbout(id)).to.have.length(1);
    expect((await draft.ask("POST send")).outcome).to.equal("422 invalid_status");

    tenSeconds();
    const sent = await draft.becomes("sent");
    expect(await sentFrom(identity.address)).to.have.length(1);
    expect([sent.undo_until, sent.decided_by.name]).to.deep.equal([null, "Ann Example"]);
    await until(async () => telegram.saidOn(id)?.includes("Sent") === true);
    expect(telegram.saidOn(id)).to.match(/^Approved by Ann Example in the console, .*\. Sent, /);
    const decisions = await decisionsOf(draft);
    expect(decisions).to.have.length(2);
    expect(decisions[0].actor).to.include({ kind: "session", email: ann.user.email });
    const late = await undo(ann, id);
    expect([late.status, late.json.message]).to.deep.equal([
      422,
      "the approval can no longer be undone: this draft is sent",
    ]);
  });

  it("a person who takes an approval back leaves the question to the approvers as it was, and its link decides", async () => {
    const ann = await member("owner");
    const to = "stands@approvers.example";
    const { id, draft, identity } = await pending({ approvalChannel: email(to) });
    const question = await draft.approvalMail(to);
    await approve(ann, id);
    const { json } = await undo(ann, id);
    expect([json.status, json.undo_until, json.decided_by]).to.deep.equal(["pending", null, null]);
    expect(json.notification_status.state).to.equal("sent");
    expect((await undo(ann, id)).json.status).to.equal("pending");
    tenSeconds();

    expect((await press({ token: question.token() })).kind).to.equal("approved");
    await draft.becomes("sent");
    expect(await sentFrom(identity.address)).to.have.length(1);
    expect(await mailsTo(to)).to.have.length(1);
  });

  it("a person edits and approves in one step: HTML is made again, the approvers are not asked about it, and are notified of the end", async () => {
    const ann = await member("approver", "Ann Example");
    const to = "edited@approvers.example";
    const bodies = { body_text: "See you.", body_html: "<p>See <b>you</b>.</p>" };
    const { id, draft } = await pending({ approvalChannel: email(to) }, bodies);
    await until(async () => (await mailsTo(to)).length === 1);
    const written = { body_text: "Hello,\r\nsee https://a.example/x", body_html: bodies.body_html };
    const { json } = await ann.now("POST /v1/drafts/:id/edit-and-approve", on(id, { ifMatch: 1, body: written }));
    expect(json).to.include({ status: "approved", version: 2, body_text: "Hello,\nsee https://a.example/x" });
    expect(json.body_html).to.equal('<p>Hello,<br>see <a href="https://a.example/x">https://a.example/x</a></p>');
    expect(json.decided_by).to.include({ kind: "session", version: 2, content_sha256: json.content_sha256 });
    const versions = (await draft.ask("GET versions")).json.data;
    expect(versions[0].edited_by).to.deep.equal({ kind: "session", id: ann.user.id, name: "Ann Example" });
    tenSeconds();
    await draft.becomes("sent");
    await until(async () => (await mailsTo(to)).length === 2);
    const [told] = await mailsTo(to);
    expect(told!.text).to.contain("It was approved by Ann Example in the console.");
    expect(told!.text).to.contain("version 2, which you were not asked about: it was changed after you were asked");
    const asked = (await draft.history()).filter(({ type }) => type === "ApproversAsked");
    expect(asked.map(({ data }) => data.version)).to.deep.equal([1]);
  });

  it("a person whose edit comes after the agent's is answered 412, and nothing of it is stored", async () => {
    const ann = await member("admin");
    const { id, draft } = await pending();
    await draft.edit({ body_text: "The agent's" });
    const call = on(id, { ifMatch: 1, body: { body_text: "Ann's" } });
    const { status, json } = await ann.now("POST /v1/drafts/:id/edit-and-approve", call);
    expect([status, json.error, json.version]).to.deep.equal([412, "version_mismatch", 2]);
    expect(await draft.read()).to.include({ status: "pending", version: 2, body_text: "The agent's" });
    // A person can also edit without approving: the two bodies say the same.
    const html = { body_html: "<p>By <i>Ann</i></p>" };
    const edited = await ann.now(
      "PATCH /v1/drafts/:id",
      on(id, { ifMatch: 2, body: { body_text: "The agent's", ...html } }),
    );
    expect(edited.json).to.include({ status: "pending", version: 3, text_derived: true, ...html });
    expect((await ann.now("PATCH /v1/drafts/:id", on(id, { body: { body_text: " " } }))).status).to.equal(422);
  });

  it("a person is one voter, signed in and by the link of their mail; two people make a quorum, and each takes back only their own vote", async () => {
    const [ann, bob] = [await member("admin", "Ann"), await member("approver", "Bob")];
    const to = ann.user.email;
    const { id, draft } = await pending({ approvalChannel: email(to), approvalsRequired: 2 });
    const token = (await draft.approvalMail(to)).token();
    const given = async () => (await draft.read()).approvals.given.map(({ by }: any) => by.name ?? by.id);
    expect((await approve(ann, id)).json.status).to.equal("pending");
    expect(await press({ token })).to.include({ kind: "vote_counted", again: true });
    expect(await given()).to.deep.equal(["Ann"]);

    expect((await undo(ann, id)).json.approvals.given).to.deep.equal([]);
    await approve(ann, id);
    expect((await approve(bob, id)).json.status).to.equal("approved");
    const back = (await undo(bob, id)).json;
    expect([back.status, back.approvals.given.map(({ by }: any) => by.name)]).to.deep.equal(["pending", ["Ann"]]);
    // A removed member's vote does not count.
    const remove = { type: "RemoveMember", memberId: ann.principal.memberId, by: "operator" } as const;
    await service.deps.members.handle(tenant.id, remove, operator(tenant.id));
    const untouched = on(id, { ifMatch: 1, body: { body_text: "Tomorrow." } });
    expect((await bob.now("POST /v1/drafts/:id/edit-and-approve", untouched)).json).to.include({
      status: "pending",
      version: 1,
    });
    expect((await approve(bob, id)).json.status).to.equal("pending");
    const cyd = await member("owner", "Cyd");
    expect((await approve(cyd, id)).json.status).to.equal("approved");
    tenSeconds();
    await draft.becomes("sent");
  });

  it("of two people who decide at once one is recorded, and at most one mail is sent", async () => {
    const [ann, bob] = [await member("owner"), await member("approver")];
    const { id, draft, identity } = await pending();
    const edit = on(id, { ifMatch: 1, body: { body_text: "Bob's" } });
    const both = await Promise.all([approve(ann, id), bob.now("POST /v1/drafts/:id/edit-and-approve", edit)]);
    const statuses = both.map(({ status }) => status).sort();
    expect(statuses[0]).to.equal(200);
    expect([412, 422]).to.include(statuses[1]);
    tenSeconds();
    await draft.becomes("sent");
    expect(await decisionsOf(draft)).to.have.length(1);
    expect(await sentFrom(identity.address)).to.have.length(1);
  });

  it("a person who may only read, who was removed, or who uses a key can decide nothing", async () => {
    const { id, draft, threadId } = await pending();
    const asked: [RouteLine, RouteCall][] = [
      ["POST /v1/drafts/:id/approve", on(id, { ifMatch: 1 })],
      ["POST /v1/drafts/:id/reject", on(id)],
      ["POST /v1/drafts/:id/undo", on(id)],
      ["POST /v1/drafts/:id/edit-and-approve", on(id, { ifMatch: 1, body: { body_text: "x" } })],
      ["POST /v1/drafts/:id/notify", on(id)],
      ["POST /v1/threads/:id/reply", on(threadId, { body: { body_text: "x" } })],
      ["GET /v1/rejection-reasons", {}],
    ];
    const cyd = await member("auditor");
    for (const [line, call] of asked)
      expect((await cyd.ask(line, call)).json.error, line).to.equal("insufficient_scope");

    const ann = await member("approver");
    const remove = { type: "RemoveMember", memberId: ann.principal.memberId, by: "operator" } as const;
    await service.deps.members.handle(tenant.id, remove, operator(tenant.id));
    for (const line of ["approve", "reject", "edit-and-approve"] as const) {
      const call = on(id, {
        ...(line !== "reject" && { ifMatch: 1 }),
        body: line === "edit-and-approve" ? { body_text: "x" } : undefined,
      });
      expect((await ann.ask(`POST /v1/drafts/:id/${line}`, call)).status, line).to.equal(401);
    }
    expect((await draft.read()).status).to.equal("pending");

    const ways = [`drafts/${id}/undo`, `drafts/${id}/edit-and-approve`, `threads/${threadId}/reply`];
    for (const path of ways) expect((await tenant.ask(`POST /v1/${path}`)).status, path).to.equal(404);
    expect((await tenant.ask("GET /v1/rejection-reasons")).status).to.equal(404);
    const key = { json: { name: "person", scopes: ["decide:drafts"] } };
    expect((await tenant.ask("POST /v1/api-keys", key)).status).to.equal(422);
    const { text } = await tenant.ask("GET /openapi.json", { key: null });
    expect(text).not.to.match(/decide:drafts|edit-and-approve|rejection-reasons/);
  });

  it("a person writes a reply, which is sent by their own approval; it is one vote where others have to approve", async () => {
    const ann = await member("approver", "Ann Example");
    const question = await received({ approvalChannel: email("asked@approvers.example") });
    const { threadId, messageId, identity } = question;
    const body = { body_text: "I see to it.", based_on_message_id: messageId };
    const { status, json } = await ann.now("POST /v1/threads/:id/reply", on(threadId, { body }));
    expect([status, json.status, json.kind, json.body_html]).to.deep.equal([201, "approved", "reply", null]);
    expect(json.decided_by).to.include({ kind: "session", name: "Ann Example" });
    expect(json.undo_until).to.be.a("string");
    tenSeconds();
    await (await tenant.draftWithId(json.id)).becomes("sent");
    expect(await sentFrom(identity.address)).to.have.length(1);
    expect(await mailsTo("asked@approvers.example")).to.have.length(0);

    await tenant.mail({ to: identity, inReplyTo: question });
    const stale = await ann.now("POST /v1/threads/:id/reply", on(threadId, { body }));
    expect([stale.status, stale.json.error]).to.deep.equal([409, "stale_draft"]);
    expect((await tenant.ask(`GET /v1/drafts?thread_id=${threadId}`)).json.total).to.equal(1);

    const two = await received({ approvalsRequired: 2 });
    const voted = await ann.now("POST /v1/threads/:id/reply", on(two.threadId, { body: { body_text: "One vote." } }));
    expect([voted.json.status, voted.json.approvals.given[0].by.name]).to.deep.equal(["pending", "Ann Example"]);
  });

  it("a person rejects with a reason; earlier reasons are offered again, the most used first", async () => {
    const ann = await member("approver");
    const given = ["Too long", "Wrong price", "Wrong price", null];
    const identities: string[] = [];
    for (const reason of given) {
      const { id, identity } = await pending();
      identities.push(identity.id);
      const { json } = await ann.now("POST /v1/drafts/:id/reject", on(id, { body: { reason } }));
      expect(json).to.include({ status: "rejected", reason });
    }
    const { json } = await ann.now("GET /v1/rejection-reasons");
    expect(json.data).to.deep.equal([
      { reason: "Wrong price", count: 2 },
      { reason: "Too long", count: 1 },
    ]);
    const ofOne = await ann.now("GET /v1/rejection-reasons", { query: { identity_id: identities[0]! } });
    expect(ofOne.json.data).to.deep.equal([{ reason: "Too long", count: 1 }]);
    const another = await service.workspace();
    const stranger = personOf(another.id, "owner");
    expect((await people.askAs(stranger, "GET /v1/rejection-reasons")).json.data).to.deep.equal([]);
  });

  it("a person only approves where the identity's approvals do not send, and then sends the approved draft", async () => {
    const ann = await member("owner");
    const { id, draft } = await pending({ sendOnChannelApproval: false });
    expect((await ann.now("POST /v1/drafts/:id/send", on(id))).json.error).to.equal("invalid_status");
    const { json } = await approve(ann, id);
    expect([json.status, json.undo_until]).to.deep.equal(["approved", null]);
    expect((await ann.now("POST /v1/drafts/:id/send", on(id))).status).to.equal(202);
    expect((await draft.becomes("sent")).decided_by).to.include({ kind: "session", id: ann.user.id });
  });

  it("a person pauses sending and says why: the reason is shown with who and when, and in the refusal of a send", async () => {
    const ann = await member("owner", "Ann Example");
    const pause = (body: object) => ann.now("PATCH /v1/workspaces/me", { body });
    const { json } = await pause({ sending_paused: true, sending_paused_reason: "The agent answers nonsense" });
    expect(json).to.include({ sending_paused: true, sending_paused_reason: "The agent answers nonsense" });
    expect(json.sending_paused_by).to.deep.equal({ kind: "session", id: ann.user.id, name: "Ann Example" });
    expect(Date.parse(json.sending_paused_at)).not.to.be.NaN;
    const { threadId } = await received();
    const refused = await ann.now("POST /v1/threads/:id/reply", on(threadId, { body: { body_text: "x" } }));
    expect(refused.json.error).to.equal("sending_paused");
    expect(refused.json.message).to.contain("(The agent answers nonsense)");
    // Once more without a reason changes nothing.
    expect((await pause({ sending_paused: true })).json.sending_paused_reason).to.equal("The agent answers nonsense");
    const resumed = (await pause({ sending_paused: false })).json;
    expect([resumed.sending_paused_reason, resumed.sending_paused_by, resumed.sending_paused_at]).to.deep.equal([
      null,
      null,
      null,
    ]);
    expect((await pause({ sending_paused_reason: "why" })).json.field).to.equal("sending_paused_reason");
    const approver = await member("approver");
    expect((await approver.now("PATCH /v1/workspaces/me", { body: {} })).json.error).to.equal("insufficient_scope");
  });
});
