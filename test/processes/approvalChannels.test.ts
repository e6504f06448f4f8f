import { expect } from "chai";
import type { Channel } from "#src/channels/channel.ts";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { type NewIdentity, updateIdentity } from "#src/commands/identities/identities.ts";
import type { CaughtMail } from "#src/mail/out/outbox.ts";
import { bounceOf } from "#test/support/bounce.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { cause } from "./sendWorld.ts";

const email = (to: string) => ({ type: "email" as const, config: { to } });
/** A channel with an invalid token, so that no request is sent. */
const slack = {
  type: "slack" as const,
  config: { webhook_url: "https://hooks.slack.com/services/T/B/x", bot_token: "no token", channel: "C1" },
};
function withResolvers() {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** No delay, which the API does not accept. */
const soon = 0;

/** Submits a draft of a new identity. */
async function pendingOn(service: InProcess, workspace: Workspace, settings: Partial<NewIdentity>) {
  const identity = await service.identity(workspace.id, settings);
  await service.deliver(identity.address, mail({ id: `${identity.id}@x.example` }));
  const thread = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}`)).json.data[0];
  const { messages } = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json;
  const based = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
  const { json } = await workspace.ask("POST /v1/drafts", { json: { ...based, body_text: "Tomorrow." } });
  return { identity, draftId: json.id as string };
}

describe("approval channels of pending drafts", () => {
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
  });
  after(() => service.stop());

  const pending = (settings: Partial<NewIdentity>) => pendingOn(service, workspace, settings);
  const change = (identityId: string, changes: object) =>
    updateIdentity(
      service.deps,
      { workspaceId: workspace.id, identityId, changes, mayLoosen: true },
      { ...cause, workspaceId: workspace.id },
    );
  const draftOf = async (id: string) => (await workspace.ask(`GET /v1/drafts/${id}`)).json;
  const mailsTo = async (address: string): Promise<CaughtMail[]> =>
    (await service.outbox.newest(100)).filter(({ envelope }) => envelope.to.includes(address));
  const tokenIn = ({ text }: CaughtMail): string => /\/a\/([\w-]+)\?d=approve/.exec(text)![1] as string;
  const press = (token: string, deps = service.deps) =>
    approvalDecisions(deps).decide({
      token,
      decision: "approve",
      reason: undefined,
      ip: undefined,
      userAgent: undefined,
      requestId: undefined,
    });
  const typesOf = async (draftId: string): Promise<string[]> =>
    (await workspace.ask(`GET /v1/drafts/${draftId}/history?limit=100`)).json.data.map(({ type }: any) => type);

  for (const channel of [slack]) {
    it(`a draft whose ${channel.type} channel cannot be reached shows that at once`, async () => {
      const { draftId } = await pending({ approvalChannel: channel });
      await until(async () => (await draftOf(draftId)).notification_status.state !== "none");
      await until(async () => (await draftOf(draftId)).notification_status.state === "failed");
      const { notification_status: status, status: state } = await draftOf(draftId);
      expect(status.channel).to.equal(channel.type);
      expect(status.error).to.contain("no approver was notified").and.to.contain(channel.type);
      expect(state).to.equal("pending");
    });
  }

  it("a draft escalates from an unreachable channel to the secondary one, whose link decides [d7 escalation]", async () => {
    const to = "second@approvers.example";
    const settings = { approvalChannel: slack, secondaryApprovalChannel: email(to), escalationDelayMinutes: soon };
    const { draftId } = await pending(settings);
    await until(async () => (await mailsTo(to)).length > 0);
    await until(async () => (await draftOf(draftId)).notification_status.state === "sent");
    expect((await draftOf(draftId)).notification_status).to.include({ channel: "email", error: null });
    const { kind } = await press(tokenIn((await mailsTo(to))[0]!));
    expect(kind).to.equal("approved");
    await until(async () => (await draftOf(draftId)).status === "sent");
    expect((await draftOf(draftId)).decided_by).to.include({ kind: "email_link", id: to });
    expect((await typesOf(draftId)).filter((type) => type === "DraftEscalated")).to.have.length(1);
    expect(await mailsTo(to)).to.have.length(1);
  });

  it("a draft escalates at once if the approval mail to its first approver bounces", async () => {
    const [gone, second] = ["gone@approvers.example", "instead@approvers.example"];
    const settings = {
      approvalChannel: email(gone),
      secondaryApprovalChannel: email(second),
      escalationDelayMinutes: 600,
    };
    const { draftId } = await pending(settings);
    await until(async () => (await mailsTo(gone)).length > 0);
    const report = bounceOf((await mailsTo(gone))[0]!.messageId);
    await service.deliver(service.deps.settings.approvalsFrom, report, { from: "" });
    await until(async () => (await mailsTo(second)).length > 0);
    await until(async () => (await draftOf(draftId)).notification_status.state === "sent");
    const types = await typesOf(draftId);
    expect(types.slice(types.indexOf("NotificationFailed"))).to.deep.equal([
      ...["NotificationFailed", "DraftEscalated", "ApproversAsked", "ApproversNotified"],
    ]);
  });

  it("the first approver's link still works after an escalation, until a decision", async () => {
    const [first, second] = ["both-a@approvers.example", "both-b@approvers.example"];
    const settings = {
      approvalChannel: email(first),
      secondaryApprovalChannel: email(second),
      escalationDelayMinutes: soon,
    };
    const { draftId } = await pending(settings);
    await until(async () => (await mailsTo(second)).length > 0);
    expect((await press(tokenIn((await mailsTo(first))[0]!))).kind).to.equal("approved");
    expect((await press(tokenIn((await mailsTo(second))[0]!))).kind).to.equal("already_decided");
    expect(await typesOf(draftId)).to.include("DraftEscalated");
  });

  it("changing the approval channel asks the new approver about pending drafts and closes the old links", async () => {
    const [old, now] = ["old@approvers.example", "new@approvers.example"];
    const { identity, draftId } = await pending({ approvalChannel: email(old) });
    await until(async () => (await mailsTo(old)).length === 1);
    await change(identity.id, { approvalChannel: email(now) });
    await until(async () => (await mailsTo(now)).length > 0);
    expect((await press(tokenIn((await mailsTo(old))[0]!))).kind).to.equal("expired");
    expect((await draftOf(draftId)).status).to.equal("pending");
    expect((await press(tokenIn((await mailsTo(now))[0]!))).kind).to.equal("approved");
  });

  it("an approval during a change of the approval channel is judged by the new channel", async () => {
    const { identity, draftId } = await pending({ approvalChannel: email("leaving@approvers.example") });
    await until(async () => (await mailsTo("leaving@approvers.example")).length === 1);
    const { drafts } = service.deps;
    /** Returns dependencies that change the settings once, right before a press is recorded. */
    const changing = (settings: Parameters<typeof change>[1]) => {
      const met = { changed: false };
      const handle: typeof drafts.handle = async (id, command, about) => {
        const isPress = typeof command !== "function" && command.type === "ApproveDraft";
        if (isPress && !met.changed) {
          met.changed = true;
          await change(identity.id, settings);
        }
        return drafts.handle(id, command, about);
      };
      return { met, deps: { ...service.deps, drafts: { ...drafts, handle } } };
    };
    const other = changing({ approvalChannel: email("coming@approvers.example") });
    const result = await press(tokenIn((await mailsTo("leaving@approvers.example"))[0]!), other.deps);
    expect({ ...other.met, kind: result.kind }).to.deep.equal({ changed: true, kind: "expired" });
    expect((await draftOf(draftId)).status).to.equal("pending");
    // A change of another setting does not require another press.
    await until(async () => (await mailsTo("coming@approvers.example")).length === 1);
    const later = changing({ escalationDelayMinutes: 7 });
    const again = await press(tokenIn((await mailsTo("coming@approvers.example"))[0]!), later.deps);
    expect({ ...later.met, kind: again.kind }).to.deep.equal({ changed: true, kind: "approved" });
  });

  it("an approval channel set later is asked about pending drafts, a secondary one after its delay", async () => {
    const [first, second] = ["later-a@approvers.example", "later-b@approvers.example"];
    const { identity, draftId } = await pending({});
    expect((await draftOf(draftId)).notification_status.state).to.equal("none");
    await change(identity.id, { approvalChannel: email(first) });
    await until(async () => (await mailsTo(first)).length === 1);
    await change(identity.id, { secondaryApprovalChannel: email(second), escalationDelayMinutes: soon });
    await until(async () => (await mailsTo(second)).length === 1);
    expect((await typesOf(draftId)).filter((type) => type === "DraftEscalated")).to.have.length(1);
  });

  it("a changed secondary channel is asked about a draft that had escalated", async () => {
    const [old, now] = ["second-old@approvers.example", "second-new@approvers.example"];
    const settings = { secondaryApprovalChannel: email(old), escalationDelayMinutes: soon };
    const { identity } = await pending(settings);
    await until(async () => (await mailsTo(old)).length === 1);
    await change(identity.id, { secondaryApprovalChannel: email(now) });
    await until(async () => (await mailsTo(now)).length === 1);
    expect((await press(tokenIn((await mailsTo(now))[0]!))).kind).to.equal("approved");
  });
});

describe("an approval channel changed while it is being asked", () => {
  const asked: string[] = [];
  const isAsked = withResolvers();
  const mayAnswer = withResolvers();
  /** A channel whose first request ends only when the test allows it. */
  const slow: Channel = {
    async ask({ channel }) {
      asked.push(channel.config.to as string);
      isAsked.resolve();
      if (asked.length === 1) await mayAnswer.promise;
      return { reached: true };
    },
  };
  let service: InProcess;
  before(async () => {
    service = await startInProcess({}, { channels: { email: slow } });
  });
  after(() => service.stop());

  /** True if the process has work to do now, under this key or any. */
  const atWork = async (key: string | null): Promise<boolean> => {
    const { rows } = await service.database.query<{ at_work: boolean }>(
      `select exists (select from work.planned where name = 'notifyApprovers' and planned < $1)
         or exists (select from work.items where process = 'notifyApprovers' and due_at <= now() and key = coalesce($2, key)) as at_work`,
      [await service.store.head(), key],
    );
    return rows[0]!.at_work;
  };

  it("an approver is asked once although the channel is changed away and back while the first request is sent", async () => {
    const workspace = await service.workspace();
    const [first, other] = ["first@approvers.example", "other@approvers.example"];
    const { id } = (await pendingOn(service, workspace, { approvalChannel: email(first) })).identity;
    await isAsked.promise;
    for (const to of [other, first]) {
      const changes = { approvalChannel: email(to) };
      const asOwner = { ...cause, workspaceId: workspace.id };
      await updateIdentity(
        service.deps,
        { workspaceId: workspace.id, identityId: id, changes, mayLoosen: true },
        asOwner,
      );
    }
    await until(async () => !(await atWork(id)));
    mayAnswer.resolve();
    await until(async () => !(await atWork(null)));
    expect(asked).to.deep.equal([first]);
  });
});
