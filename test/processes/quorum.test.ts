import { expect } from "chai";
import type { ChatPerson, DecisionResult } from "#src/channels/approvalDecisions.ts";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { type NewIdentity, updateIdentity } from "#src/commands/identities/identities.ts";
import { chatDouble } from "#test/support/chatDouble.ts";
import { runHere } from "#test/support/commandHere.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { cause } from "./sendWorld.ts";

const email = (to: string) => ({ type: "email" as const, config: { to } });
const telegramGroup = { type: "telegram" as const, config: { bot_token: `123:${"a".repeat(35)}`, chat_id: "-100" } };
const slackRoom = {
  type: "slack" as const,
  config: { webhook_url: "https://hooks.slack.com/services/T/B/x", signing_secret: "shhh" },
};
const ada: ChatPerson = { kind: "telegram", id: "7", name: "Ada" };
const bob: ChatPerson = { kind: "telegram", id: "8", name: "Bob" };
const cyd: ChatPerson = { kind: "slack", id: "U9", name: "Cyd" };

/** A decision by a page's or mail's token; a chat's button also names the person. */
type Press = { token: string; decision?: "approve" | "reject"; by?: ChatPerson };

let service: InProcess;
let workspace: Workspace;
const [telegram, slack] = [chatDouble("telegram"), chatDouble("slack")];

before(async () => {
  service = await startInProcess({}, { channels: { telegram: telegram.channel, slack: slack.channel } });
  workspace = await service.workspace();
});
after(() => service.stop());

async function pending(settings: Partial<NewIdentity>, more: object = {}) {
  const identity = await service.identity(workspace.id, settings);
  await service.deliver(identity.address, mail({ id: `${identity.id}@x.example` }));
  const thread = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.data[0];
  const { messages } = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json;
  const based = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
  const { json } = await workspace.ask("POST /v1/drafts", { json: { ...based, body_text: "Tomorrow.", ...more } });
  return { identity, draftId: json.id as string, threadId: thread.id as string };
}

/** Submits a draft whose approvers are asked in a Telegram group and by mail. */
async function askedTwice(to: string, required = 2, settings: Partial<NewIdentity> = {}) {
  const channels = { approvalChannel: telegramGroup, secondaryApprovalChannel: email(to) };
  const made = await pending({ ...channels, approvalsRequired: required, ...settings });
  await until(async () => telegram.askedAbout(made.draftId).length > 0 && (await mailTo(to)) !== undefined);
  await service.caughtUp();
  const button = (decision: "approve" | "reject" = "approve") =>
    telegram.askedAbout(made.draftId).at(-1)!.tokens[decision];
  const link = async () => /\/a\/([\w-]+)\?d=approve/.exec((await mailTo(to))!.text)![1] as string;
  return { ...made, button, link };
}

const mailTo = async (address: string) =>
  (await service.outbox.newest(12)).find(({ envelope }) => envelope.to.includes(address));
const draftOf = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json;
const historyOf = async (id: string): Promise<any[]> =>
  (await workspace.ask(`GET /v1/drafts/${id}/history?limit=100`)).json.data;
const decisionsIn = (history: { type: string }[]) =>
  history.filter(({ type }) => type === "DraftApproved" || type === "DraftRejected");
const press = ({ token, decision = "approve", by }: Press): Promise<DecisionResult> =>
  approvalDecisions(service.deps).decide({
    ...{ token, decision, by },
    ...{ reason: undefined, ip: undefined, userAgent: undefined, requestId: undefined },
  });
const approveByKey = (id: string) => workspace.ask(`POST /v1/drafts/${id}/approve`);
const send = (id: string) => workspace.ask(`POST /v1/drafts/${id}/send`);
const isSent = (id: string) => async () => (await draftOf(id)).status === "sent";
const sentTo = async (address: string) =>
  (await service.outbox.newest(12)).filter(({ envelope }) => envelope.from === address).length;

describe("a draft that needs two approvals", () => {
  it("a draft with one of two approvals waits, shows who approved, and is sent once after the second [d13 quorum]", async () => {
    const to = "second@approvers.example";
    const { draftId, identity, button, link } = await askedTwice(to);
    const first = await press({ token: button(), by: ada });
    expect(first).to.deep.include({ kind: "vote_counted", again: false });
    const waiting = await draftOf(draftId);
    expect([waiting.status, waiting.decided_by, waiting.version]).to.deep.equal(["pending", null, 1]);
    expect(waiting.approvals.required).to.equal(2);
    expect(waiting.approvals.given.map(({ by }: any) => by)).to.deep.equal([
      { kind: "telegram", id: "7", name: "Ada", channel: "telegram" },
    ]);
    expect(Date.parse(waiting.approvals.given[0].at)).to.be.a("number").and.not.NaN;

    // The other approver's page shows the approval, and a second press of the first changes nothing.
    const page = await workspace.ask(`GET /a/${await link()}`, { key: null });
    expect(page.text).to.contain("1 of 2 approvals given: by Ada at ");
    expect(await press({ token: button(), by: ada })).to.deep.include({ kind: "vote_counted", again: true });
    expect((await draftOf(draftId)).approvals.given).to.have.length(1);
    expect(telegram.saidOn(draftId)).to.equal(undefined);

    expect((await press({ token: await link() })).kind).to.equal("approved");
    await until(isSent(draftId));
    const sent = await draftOf(draftId);
    expect(sent.decided_by).to.include({ kind: "email_link", id: to });
    const { serviceUrl, ownerUrl } = service.urls;
    const audit = await runHere("audit", ["draft", draftId], {
      ...{ DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: ownerUrl, NODE_ENV: "test" },
    });
    expect(audit.out).to.match(/approval given, by telegram Ada \(7\) \(version 1, .*voter telegram:7, required 2\)/);
    expect(audit.out).to.match(/draft approved, by email_link second@.*quorum 2 telegram:7 \S*second@/);
    expect(sent.approvals.given.map(({ by }: any) => by.id)).to.deep.equal(["7", to]);
    const history = await historyOf(draftId);
    const given = history.filter(({ type }) => type === "ApprovalGiven");
    expect(given[0].actor).to.deep.include({ kind: "telegram", id: "7", name: "Ada", channel: "telegram" });
    expect(given[0].actor).not.to.have.any.keys("ip", "user_agent");
    const quorum = { required: 2, voters: ["telegram:7", `mailbox:${to}`] };
    expect(decisionsIn(history).map(({ data }: any) => data.quorum)).to.deep.equal([quorum]);
    expect(history.find(({ type }) => type === "DraftQueued").data.authorisation).to.deep.include({ quorum });
    expect(await sentTo(identity.address)).to.equal(1);
    // The group's card shows the outcome, although it was decided elsewhere.
    await until(async () => telegram.saidOn(draftId)?.includes("Sent") === true);
    expect(telegram.saidOn(draftId)).to.match(
      /^Approved by Ada through telegram and second@.* by a link in .*\. Sent, /,
    );
  });

  it("two people of one chat count as two approvals, and a link into that chat does not count besides them", async () => {
    const { draftId, button } = await askedTwice("beside@approvers.example");
    expect((await press({ token: button() })).kind).to.equal("vote_counted");
    expect(await press({ token: button(), by: ada })).to.deep.include({ kind: "vote_counted", again: false });
    expect((await draftOf(draftId)).approvals.given.map(({ by }: any) => by.id)).to.deep.equal(["7"]);
    expect(await press({ token: button() })).to.deep.include({ kind: "vote_counted", again: true });
    expect((await press({ token: button(), by: bob })).kind).to.equal("approved");
    await until(isSent(draftId));
    expect((await draftOf(draftId)).decided_by).to.include({ kind: "telegram", id: "8", name: "Bob" });
  });

  it("all API keys count as one approver, and their send says what is missing [d13 quorum]", async () => {
    const { draftId, button } = await askedTwice("keys@approvers.example");
    const answer = await approveByKey(draftId);
    expect([answer.status, answer.json.status, answer.json.approvals.given.length]).to.deep.equal([200, "pending", 1]);
    const other = await workspace.keyOf(["write:drafts", "write:emails"]);
    await service.caughtUp();
    const again = await workspace.ask(`POST /v1/drafts/${draftId}/approve`, { key: other });
    expect([again.status, again.json.approvals]).to.deep.equal([200, answer.json.approvals]);
    const refused = await send(draftId);
    expect([refused.status, refused.json.error, refused.json.required, refused.json.given]).to.deep.equal([
      ...[422, "approvals_missing", 2, 1],
    ]);
    expect(refused.json.message).to.contain("API keys have approved this version already: 1 of 2 approvals is given");
    expect(decisionsIn(await historyOf(draftId))).to.have.length(0);
    // The key's approval does not send; the person's does.
    expect((await press({ token: button(), by: ada })).kind).to.equal("approved");
    await until(isSent(draftId));
  });

  it("a key's send is the last missing approval and sends the draft", async () => {
    const { draftId, button } = await askedTwice("last@approvers.example", 2, { sendOnChannelApproval: false });
    await press({ token: button(), by: ada });
    const { status } = await send(draftId);
    expect(status).to.equal(202);
    await until(isSent(draftId));
    const history = await historyOf(draftId);
    expect(decisionsIn(history)[0]).to.nested.include({ "actor.kind": "api_key" });
    expect(history.find(({ type }) => type === "DraftQueued").data.authorisation.kind).to.equal("approval");
  });

  it("one rejection ends a draft with one of two approvals", async () => {
    const { draftId, button, link } = await askedTwice("no@approvers.example");
    await press({ token: button(), by: ada });
    expect((await press({ token: await link(), decision: "reject" })).kind).to.equal("rejected");
    expect((await press({ token: button(), by: bob })).kind).to.equal("already_decided");
    expect((await draftOf(draftId)).status).to.equal("rejected");
    await until(async () => telegram.saidOn(draftId) !== undefined);
    expect(telegram.saidOn(draftId)).to.match(/^Rejected by no@approvers.example by a link in an approval mail, /);
  });

  it("an edit removes the approvals given, and old buttons decide nothing", async () => {
    const { draftId, button } = await askedTwice("anew@approvers.example");
    const old = button();
    await press({ token: old, by: ada });
    const edit = await workspace.ask(`PATCH /v1/drafts/${draftId}`, { json: { body_text: "On Friday." } });
    expect(edit.json.approvals).to.deep.equal({ required: 2, given: [] });
    expect((await press({ token: old, by: bob })).kind).to.equal("changed");
    await until(async () => telegram.askedAbout(draftId).length === 2 && telegram.saidOn(draftId) !== undefined);
    expect(telegram.saidOn(draftId)).to.match(/^Changed, .*: vers/);
    await service.caughtUp();
    // The editor may approve once, as anybody else.
    await approveByKey(draftId);
    expect((await press({ token: button(), by: bob })).kind).to.equal("approved");
    await until(isSent(draftId));
  });

  it("no setting or rule approves a draft that needs two approvals, and a mail sent in one call waits", async () => {
    const rule = {
      ...{ name: "skip", trigger_event: "draft.created", conditions: {} },
      actions: [{ type: "skip_approval" }],
    };
    const { json: made, text } = await workspace.ask("POST /v1/rules", { json: rule });
    expect(made.id, text).to.be.a("string");
    const { draftId, identity, threadId } = await pending({ autoApproveReplies: true, approvalsRequired: 2 });
    await until(async () => (await historyOf(draftId)).some(({ type }) => type === "DraftRulesApplied"));
    expect([(await draftOf(draftId)).status, (await draftOf(draftId)).auto_approved]).to.deep.equal(["pending", null]);
    // The rules' results are projected separately, a moment later.
    await service.caughtUp();
    const runs = (await workspace.ask(`GET /v1/rules/${made.id}/evaluations`)).json.data;
    // The rule is deleted before the assertions, so that it does not affect other tests' drafts.
    await workspace.ask(`DELETE /v1/rules/${made.id}`);
    expect(runs[0].actions[0]).to.include({ outcome: "suppressed", reason: "this identity requires 2 approvals" });
    const reply = { thread_id: threadId, body_text: "Now." };
    const answer = await workspace.ask("POST /v1/emails/reply", { json: reply });
    expect([answer.status, answer.json.status], answer.text).to.deep.equal([202, "pending"]);
    expect(await sentTo(identity.address)).to.equal(0);
  });

  it("the required number is that at the decision: lowered, one more is enough; raised, a held draft waits", async () => {
    const { draftId, identity, button } = await askedTwice("lower@approvers.example", 3);
    await press({ token: button(), by: ada });
    await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { approvals_required: 1 } });
    expect((await draftOf(draftId)).approvals).to.nested.include({ required: 1 });
    expect((await press({ token: button(), by: ada })).kind).to.equal("approved");
    await until(isSent(draftId));

    await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: true } });
    const held = await pending({ autoApproveReplies: true });
    await until(async () => (await draftOf(held.draftId)).held_code === "sending_paused");
    await workspace.ask(`PATCH /v1/identities/${held.identity.id}`, { json: { approvals_required: 2 } });
    await workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
    await until(async () => (await draftOf(held.draftId)).status === "pending");
    expect(await sentTo(held.identity.address)).to.equal(0);
  });

  it("a key's approval no longer counts once human approval is required [d2 require_human_approval]", async () => {
    const { draftId, identity, button } = await askedTwice("people@approvers.example");
    await approveByKey(draftId);
    await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { require_human_approval: true } });
    const first = await press({ token: button(), by: ada });
    expect(first).to.have.nested.property("approvals.given.length", 1);
    expect((await approveByKey(draftId)).json.error).to.equal("human_approval_required");
    expect((await press({ token: button(), by: bob })).kind).to.equal("approved");
    await until(isSent(draftId));
    expect((await draftOf(draftId)).approvals.given.map(({ by }: any) => by.name)).to.deep.equal(["Ada", "Bob"]);
  });

  it("both channels are asked again after an approval was taken back", async () => {
    const to = "anew@approvers.example";
    const { draftId, identity, button } = await askedTwice(to);
    const pause = (sending_paused: boolean) => workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused } });
    /** Returns the slots of the requests that reached approvers. */
    const asked = async () => {
      const { open, reached } = (await service.deps.drafts.load(draftId)).state.notified;
      return reached.map((id) => open[id]!.channel.slot).sort();
    };
    await until(async () => (await asked()).length === 2);
    await pause(true);
    await approveByKey(draftId);
    expect((await press({ token: button(), by: ada })).kind).to.equal("approved");
    await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: { require_human_approval: true } });
    await pause(false);
    await until(async () => (await draftOf(draftId)).status === "pending");
    await until(async () => (await asked()).length === 4);
    expect(await asked()).to.deep.equal(["primary", "primary", "secondary", "secondary"]);
    expect((await draftOf(draftId)).approvals.given).to.deep.equal([]);
  });

  it("a link into one chat does not count besides a press by a person in another chat", async () => {
    const channels = {
      approvalChannel: telegramGroup,
      secondaryApprovalChannel: { ...telegramGroup, config: { ...telegramGroup.config, chat_id: "-200" } },
    };
    const { draftId } = await pending({ ...channels, approvalsRequired: 2 });
    await until(async () => telegram.askedAbout(draftId).length === 2);
    await service.caughtUp();
    const [first, second] = telegram.askedAbout(draftId).map(({ tokens }) => tokens.approve);
    expect((await press({ token: second! })).kind).to.equal("vote_counted");
    expect(await press({ token: first!, by: ada })).to.deep.include({ kind: "vote_counted", again: false });
    expect(await press({ token: second! })).to.deep.include({ kind: "vote_counted", again: true });
    const { status, approvals } = await draftOf(draftId);
    expect([status, approvals.given.map(({ by }: any) => by.id)]).to.deep.equal(["pending", ["7"]]);
  });

  it("both channels are asked again if a key requests it", async () => {
    const { draftId } = await askedTwice("again@approvers.example");
    const before = telegram.askedAbout(draftId).length;
    const types = async () => (await historyOf(draftId)).filter(({ type }) => type === "ApproversNotified").length;
    await until(async () => (await types()) === 2);
    await workspace.ask(`POST /v1/drafts/${draftId}/notify`);
    await until(async () => (await types()) === 4);
    expect(telegram.askedAbout(draftId)).to.have.length(before + 1);
  });
});

describe("concurrent decisions", function () {
  this.timeout(900_000);
  const rounds = sized(2, 200);

  it("concurrent presses, links, key approvals and edits lead to one decision and at most one mail", async () => {
    const to = "races@approvers.example";
    for (let round = 0; round < rounds; round++) {
      const required = round % 4 > 1 ? 1 : 2;
      const address = `${round}-${to}`;
      const escalationDelayMinutes = 0;
      const { draftId, identity, button, link } = await askedTwice(address, required, { escalationDelayMinutes });
      const edits = round % 2 === 1;
      const results = await Promise.all([
        press({ token: button(), by: ada }),
        press({ token: button(), by: ada }),
        press({ token: await link() }),
        approveByKey(draftId).then(({ json }) => json),
        edits ? workspace.ask(`PATCH /v1/drafts/${draftId}`, { json: { body_text: `New ${round}` } }) : undefined,
      ]);
      const history = await historyOf(draftId);
      const decisions = decisionsIn(history);
      const kinds = results.map((result) => (result && "kind" in result ? result.kind : (result as any)?.status));
      const told = JSON.stringify([round, kinds]);
      expect(decisions.length, told).to.be.at.most(1);
      if (!edits) expect(decisions, told).to.have.length(1);
      const [decision] = decisions as any[];
      if (decision) expect(decision.data.quorum?.voters.length ?? 1, told).to.be.at.least(required);
      if (decision?.data.send_requested) await until(isSent(draftId));
      // Old buttons decide nothing about a new version.
      const { version } = await draftOf(draftId);
      if (version > 1) {
        // Only a key, which names no version, can have approved the new version.
        if (decision) expect([decision.data.version, decision.actor.kind], told).to.deep.equal([version, "api_key"]);
        const old = telegram.askedAbout(draftId)[0]!.tokens.approve;
        expect((await press({ token: old, by: bob })).kind, told).to.equal("changed");
      }
      expect(await sentTo(identity.address), told).to.equal(decision?.data.send_requested ? 1 : 0);
    }
  });
});

describe("a question in a chat", () => {
  const inBoth = { approvalChannel: telegramGroup, secondaryApprovalChannel: slackRoom, escalationDelayMinutes: 0 };
  const asked = async () => {
    const made = await pending(inBoth);
    await until(async () => telegram.askedAbout(made.draftId).length > 0 && slack.askedAbout(made.draftId).length > 0);
    await service.caughtUp();
    return made;
  };

  it("a question in a chat shows who decided in another chat and the outcome", async () => {
    const { draftId } = await asked();
    const { tokens } = slack.askedAbout(draftId)[0]!;
    expect((await press({ token: tokens.approve, by: cyd })).kind).to.equal("approved");
    await until(isSent(draftId));
    const isTold = (said: string | undefined) => said?.includes("Sent, ") === true;
    await until(async () => isTold(telegram.saidOn(draftId)) && isTold(slack.saidOn(draftId)));
    expect(telegram.saidOn(draftId)).to.match(/^Approved by Cyd through slack, .* UTC\. Sent, /);
    expect((await draftOf(draftId)).decided_by).to.include({ kind: "slack", id: "U9", name: "Cyd", channel: "slack" });
  });

  it("the outcome in a chat is retried while the chat is away and given up when it refuses", async () => {
    const { draftId } = await asked();
    const away = { reached: false, error: "away", again: true } as const;
    telegram.failNext(draftId, away, { reached: false, error: "blocked", again: false });
    await approveByKey(draftId);
    await until(async () => slack.saidOn(draftId)?.includes("not sent yet") === true);
    await until(async () => telegram.failuresLeft(draftId) === 1);
    service.clock.advance(10_000);
    await until(async () => telegram.failuresLeft(draftId) === 0);
    // After a final refusal nothing is retried; only the next event updates the chat.
    service.clock.advance(3_600_000);
    expect(telegram.saidOn(draftId)).to.equal(undefined);
    await workspace.ask(`POST /v1/drafts/${draftId}/reject`, { json: { reason: "too late" } });
    await until(async () => telegram.saidOn(draftId)?.includes("too late") === true);
  });

  it("a question recorded after the decision loses its buttons, and a former chat's question stays", async () => {
    const { draftId, identity } = await asked();
    await approveByKey(draftId);
    await until(async () => telegram.saidOn(draftId) !== undefined);
    const notificationId = (await historyOf(draftId)).find(({ type }) => type === "ApproversAsked").data
      .notification_id;
    const message = { chat: "telegram", ids: ["late"] };
    const late = { type: "RecordNotified" as const, notificationId, message };
    await service.deps.drafts.handle(draftId, late, { ...cause, workspaceId: workspace.id });
    await until(async () => telegram.concluded.some(({ message }) => message.ids[0] === "late"));

    const said = telegram.concluded.length;
    const elsewhere = { type: "telegram" as const, config: { ...telegramGroup.config, chat_id: "-200" } };
    const change = { workspaceId: workspace.id, identityId: identity.id, changes: { approvalChannel: elsewhere } };
    await updateIdentity(service.deps, { ...change, mayLoosen: true }, { ...cause, workspaceId: workspace.id });
    await workspace.ask(`POST /v1/drafts/${draftId}/reject`, { json: {} });
    await until(async () => slack.saidOn(draftId)?.includes("Rejected") === true);
    expect(telegram.concluded).to.have.length(said);
  });
});
