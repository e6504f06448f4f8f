import { expect } from "chai";
import type { Channel, ChannelAnswer, ChannelRequest, Channels } from "#src/channels/channel.ts";
import { approveByPerson, undoApproval } from "#src/commands/drafts/signedInDecisions.ts";
import { escalateUnreached } from "#src/processes/escalateUnreached.ts";
import { notifyApprovers } from "#src/processes/notifyApprovers.ts";
import type { Process, Timer } from "#src/processes/process.ts";
import { recordBounces } from "#src/processes/recordBounces.ts";
import type { LinkClosure } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import { mailHeaders } from "#test/support/examples/index.ts";
import { fire, tell } from "#test/support/processContext.ts";
import { cause, createSendWorld, identityId, workspaceId } from "./sendWorld.ts";

const email = (to: string) => ({ type: "email" as const, config: { to } });
const first = "first@approvers.example";
const second = "second@approvers.example";
const gone: ChannelAnswer = { reached: false, error: "550 no such user", again: false };
const busy: ChannelAnswer = { reached: false, error: "busy", again: true };
const measured: ChannelAnswer = { reached: false, error: "our own measure", again: true, inMs: 60_000 };

/** Makes a world whose mailboxes give these answers. `secondary` false: an identity with one channel. */
async function world(answers: Record<string, ChannelAnswer> = {}, { secondary = true } = {}) {
  const made = await createSendWorld();
  const changes = {
    approvalChannel: email(first),
    secondaryApprovalChannel: secondary ? email(second) : null,
    escalationDelayMinutes: secondary ? 600 : null,
  };
  await made.node.identities.handle(identityId, { type: "UpdateIdentity", changes, mayLoosen: true }, cause);
  const asked: { to: string; version: number; messageId: string }[] = [];
  const givenBack: string[] = [];
  const channel: Channel = {
    async takeRoom({ channel: { config }, attemptId }) {
      const answer = answers[config.to as string];
      return answer?.reached === false && answer.inMs !== undefined
        ? answer
        : { giveBack: async () => void givenBack.push(attemptId) };
    },
    async ask({ channel: { config }, view, origin }: ChannelRequest): Promise<ChannelAnswer> {
      const answer = answers[config.to as string] ?? { reached: true };
      const messageId = made.node.messageIds.mint({ ...origin, domain: "agents.localhost" });
      if (answer.reached) asked.push({ to: config.to as string, version: view.version, messageId });
      return answer;
    },
  };
  const channels: Channels = { email: channel, telegram: channel, slack: channel };
  const processes = [notifyApprovers(made.node, channels), escalateUnreached(made.node), recordBounces(made.node)];
  let timers: [Process, Timer][] = [];
  let position = made.log.all.length;

  /** Hands every new event, and the events that follow from it, to every process twice. */
  async function tellNew(): Promise<void> {
    for (; position < made.log.all.length; position++) {
      const event = made.log.all[position] as Recorded;
      for (const process of processes) for (const _ of "12") await told(process, event);
    }
  }
  async function told(process: Process, event: Recorded): Promise<void> {
    if (!process.categories.some((category) => event.stream.startsWith(`${category}-`))) return;
    const set: Timer[] = [];
    await tell(process, event, { timers: set });
    timers = [
      ...timers.filter(([, { name }]) => !set.some((timer) => timer.name === name)),
      ...set.map((timer) => [process, timer] as [Process, Timer]),
    ];
  }

  return {
    ...made,
    answers,
    asked,
    givenBack,
    to: () => asked.map(({ to, version }) => `${to.split("@")[0]} v${version}`),
    timers: () => timers.map(([, { name }]) => name),
    tellNew,
    async submitted() {
      const draftId = await made.submit();
      await tellNew();
      return draftId;
    },
    async fireTimer() {
      const [process, timer] = timers.shift() as [Process, Timer];
      const set: Timer[] = [];
      await fire(process, timer, { timers: set });
      timers.push(...set.map((each) => [process, each] as [Process, Timer]));
      await tellNew();
    },
    async close(draftId: string, because: LinkClosure, messageId: string) {
      const { notified } = await made.state.draft(draftId);
      const notificationId = notified.reached.at(-1) as string;
      const command = { type: "CloseApprovalLink", notificationId, because, messageId } as const;
      await made.node.drafts.handle(draftId, command, cause);
      await tellNew();
    },
    /** Receives a bounce of this request's mail. */
    async bounce(messageId: string) {
      const headers = mailHeaders({ classification: "bounce", reportedMessageIds: [messageId] });
      const deliveryId = made.node.ids.uuid();
      const mail = {
        deliveryId,
        envelope: { from: "", to: "approvals@agents.localhost" },
        rawSha256: "a",
        sizeBytes: 1,
      };
      const reply = { ...mail, remote: { ip: "::1", helo: "x" }, headers, workspaceId: null, identityId: null };
      await made.node.approvalReplies.handle(deliveryId, { type: "ReceiveApprovalReply", reply }, cause);
      await tellNew();
    },
    count: (type: string) => made.log.all.filter((event) => event.type === type).length,
    needsReview: async () => (await made.state.thread()).needsReview,
    async seen() {
      const command = { type: "UpdateThread", needsReview: false, because: "looked at" } as const;
      await made.node.threads.handle(made.threadId(), command, cause);
    },
    tellAgain: async () => {
      const events = made.log.all.filter(({ stream }) => !stream.startsWith("identity-"));
      for (const event of events) for (const process of processes) await told(process, event);
      await tellNew();
    },
  };
}

describe("an approval request that reached no approver", () => {
  it("an unreached approval request escalates to the secondary channel at once, and once", async () => {
    const { submitted, to, count, needsReview, timers, tellAgain } = await world({ [first]: gone });
    await submitted();
    expect([to(), timers(), await needsReview()]).to.deep.equal([["second v1"], [], false]);
    await tellAgain();
    expect([to(), count("DraftEscalated")]).to.deep.equal([["second v1"], 1]);
  });

  for (const secondary of [true, false]) {
    const where = secondary
      ? "an unreached request escalates"
      : "an unreached request without second channel needs review";
    it(`${where}, also if a former approver was reached`, async () => {
      const other = "other@approvers.example";
      const { submitted, changeIdentity, tellNew, fireTimer, to, needsReview } = await world(
        { [other]: gone },
        { secondary },
      );
      await submitted();
      await changeIdentity({ approvalChannel: email(other) });
      await tellNew();
      await fireTimer();
      expect([to(), await needsReview()]).to.deep.equal([
        ["first v1", ...(secondary ? ["second v1"] : [])],
        !secondary,
      ]);
    });
  }

  it("an approval request escalates after the last try, not before", async () => {
    const { submitted, to, fireTimer, timers } = await world({ [first]: busy });
    await submitted();
    for (let tries = 0; tries < 4; tries++) {
      expect([to(), timers()]).to.deep.equal([[], ["retry primary"]]);
      await fireTimer();
    }
    expect([to(), timers()]).to.deep.equal([["second v1"], []]);
  });

  it("a request without room in the hourly limit escalates, or waits without a try if there is no secondary channel", async () => {
    const both = await world({ [first]: measured });
    await both.submitted();
    expect([both.to(), both.timers()]).to.deep.equal([["second v1"], []]);
    const alone = await world({ [first]: measured }, { secondary: false });
    await alone.submitted();
    for (let waits = 0; waits < 6; waits++) await alone.fireTimer();
    // Longer than the day after which other notifications are dropped.
    alone.sleepThrough(25 * 3_600_000);
    await alone.fireTimer();
    expect([alone.to(), await alone.needsReview()]).to.deep.equal([[], false]);
    delete alone.answers[first];
    await alone.fireTimer();
    expect([alone.to(), alone.timers()]).to.deep.equal([["first v1"], []]);
  });

  it("a request that waits for room in the hourly limit is recorded only once it has room", async () => {
    const { submitted, log, fireTimer, answers, to, givenBack } = await world(
      { [first]: measured },
      { secondary: false },
    );
    await submitted();
    const before = log.all.length;
    for (let waits = 0; waits < 3; waits++) await fireTimer();
    expect(log.all.slice(before)).to.deep.equal([]);
    expect(log.all.filter(({ type }) => type === "ApproversAsked")).to.deep.equal([]);
    delete answers[first];
    await fireTimer();
    expect([to(), givenBack]).to.deep.equal([["first v1"], []]);
    expect(log.all.slice(before).map(({ type }) => type)).to.deep.equal(["ApproversAsked", "ApproversNotified"]);
  });

  it("a request gives its room in the hourly limit back if the draft was decided meanwhile", async () => {
    const { submitted, node, fireTimer, answers, to, givenBack, elsewhere } = await world(
      { [first]: busy },
      { secondary: false },
    );
    const draftId = await submitted();
    delete answers[first];
    const handle = node.drafts.handle.bind(node.drafts);
    node.drafts.handle = async (id, command, because) => {
      if (typeof command !== "function" && command.type === "AskApprovers") {
        const reject = { type: "RejectDraft", ifVersion: null, reason: null, tokenSha256: null } as const;
        await elsewhere().drafts.handle(draftId, reject, cause);
      }
      return handle(id, command, because);
    };
    await fireTimer();
    expect(to()).to.deep.equal([]);
    expect(givenBack).to.have.length(1);
  });

  it("a request waits for room in the hourly limit if its version has already escalated", async () => {
    const { submitted, answers, node, tellNew, to, timers, fireTimer } = await world({ [first]: gone, [second]: gone });
    const draftId = await submitted();
    answers[first] = measured;
    const at = new Date().toISOString();
    await node.drafts.handle(draftId, { type: "RequestNotify", at, throttleSeconds: 0 }, cause);
    await tellNew();
    expect([to(), timers()]).to.deep.equal([[], ["retry primary"]]);
    delete answers[first];
    await fireTimer();
    expect([to(), timers()]).to.deep.equal([["first v1"], []]);
  });

  it("a thread needs review again if a repeated request fails on both channels", async () => {
    const { submitted, node, tellNew, needsReview, seen, count } = await world({ [first]: gone, [second]: gone });
    const draftId = await submitted();
    await seen();
    const at = new Date().toISOString();
    await node.drafts.handle(draftId, { type: "RequestNotify", at, throttleSeconds: 0 }, cause);
    await tellNew();
    expect([await needsReview(), count("DraftEscalated")]).to.deep.equal([true, 1]);
  });

  for (const [name, answers, secondary] of [
    ["both channels fail", { [first]: gone, [second]: gone }, true],
    ["the only channel fails", { [first]: gone }, false],
  ] as const) {
    it(`a thread needs review once if ${name}, and not again after a person cleared it`, async () => {
      const { submitted, needsReview, seen, tellAgain, state } = await world(answers, { secondary });
      const draftId = await submitted();
      expect([await needsReview(), (await state.draft(draftId)).status]).to.deep.equal([true, "pending"]);
      await seen();
      await tellAgain();
      expect(await needsReview()).to.equal(false);
    });
  }

  it("an unreached request about a decided draft or an older version does not escalate", async () => {
    for (const decide of [true, false]) {
      const { submit, edit, approve, tellNew, log, node, count, needsReview } = await world({ [first]: gone });
      const draftId = await submit();
      const asked = node.ids.uuid();
      const data = { notificationId: asked, causedBy: "x", version: 1, contentSha256: "x", tokens: [], expiresAt: "x" };
      const channel = { slot: "primary" as const, type: "email", address: first };
      await node.drafts.handle(draftId, { type: "AskApprovers", asked: { ...data, channel } }, cause);
      const failed = { type: "RecordNotificationFailed", notificationId: asked, error: "no", final: true } as const;
      await node.drafts.handle(draftId, failed, cause);
      const event = log.all.at(-1) as Recorded;
      if (decide) await approve(draftId);
      else await edit(draftId, "Another answer.");
      await tell(escalateUnreached(node), event);
      expect([count("DraftEscalated"), await needsReview()]).to.deep.equal([0, false]);
      await tellNew();
    }
  });
});

describe("a bounced approval mail", () => {
  it("a bounced approval mail is shown on the draft and escalates at once", async () => {
    const { submitted, asked, bounce, to, state, log, tellAgain } = await world();
    const draftId = await submitted();
    expect(to()).to.deep.equal(["first v1"]);
    await bounce(asked[0]!.messageId);
    expect(to()).to.deep.equal(["first v1", "second v1"]);
    const failed = log.all.filter(({ type }) => type === "NotificationFailed");
    expect(failed.map(({ data }) => data)).to.have.length(1);
    expect(failed[0]!.data.error).to.match(/^the approval mail came back as undeliverable/);
    expect((await state.draft(draftId)).status).to.equal("pending");
    await bounce(asked[0]!.messageId);
    await tellAgain();
    expect([to(), log.all.filter(({ type }) => type === "NotificationFailed").length]).to.deep.equal([
      ["first v1", "second v1"],
      1,
    ]);
  });

  it("a bounce changes nothing if a later request got through, the draft was decided, or the mail is unknown", async () => {
    const { submitted, asked, bounce, to, approve, advance, state, node, tellNew, count } = await world();
    const draftId = await submitted();
    await node.drafts.handle(draftId, { type: "RequestNotify", at: "2026-01-01T00:00:00Z", throttleSeconds: 0 }, cause);
    await tellNew();
    await bounce(asked[0]!.messageId);
    expect([to(), count("DraftEscalated")]).to.deep.equal([["first v1", "first v1"], 0]);
    const origin = { identityId, threadId: node.ids.uuid(), attemptId: node.ids.uuid() };
    await bounce(node.messageIds.mint({ ...origin, domain: "agents.localhost" }));
    await bounce("<made-up@elsewhere.example>");
    await approve(draftId);
    await bounce(asked[1]!.messageId);
    expect(count("DraftEscalated")).to.equal(0);
    await advance(60_000);
    expect((await state.draft(draftId)).status).to.equal("sent");
    const failed = count("NotificationFailed");
    await bounce(asked[1]!.messageId);
    expect([to(), count("NotificationFailed"), count("DraftEscalated")]).to.deep.equal([
      ["first v1", "first v1"],
      failed,
      0,
    ]);
  });

  it("a bounce while the draft is approved leads to a new request once the approval is undone", async () => {
    const { submitted, asked, bounce, to, node, tellNew, count } = await world();
    const draftId = await submitted();
    const ann = { ...cause, actor: { kind: "session" as const, id: "ann", name: "Ann", email: "ann@people.example" } };
    await approveByPerson(node, { workspaceId, draftId, ifVersion: 1 }, ann);
    await bounce(asked[0]!.messageId);
    expect([to(), count("DraftEscalated")]).to.deep.equal([["first v1"], 0]);
    await undoApproval(node, { workspaceId, draftId }, ann);
    await tellNew();
    expect(to()).to.deep.equal(["first v1", "first v1"]);
    await bounce(asked[1]!.messageId);
    expect(to()).to.deep.equal(["first v1", "first v1", "second v1"]);
  });
});

describe("a draft approved while its escalation was pending", () => {
  const ann = { ...cause, actor: { kind: "session" as const, id: "ann", name: "Ann", email: "ann@people.example" } };

  async function takenBack(answers: Record<string, ChannelAnswer>) {
    const made = await world(answers);
    const { node, submitted, tellNew } = made;
    const draftId = await submitted();
    await node.drafts.handle(draftId, { type: "EscalateDraft", version: 1, channelType: "email" }, cause);
    await approveByPerson(node, { workspaceId, draftId, ifVersion: 1 }, ann);
    await tellNew();
    const before = made.to();
    await undoApproval(node, { workspaceId, draftId }, ann);
    await tellNew();
    return { ...made, before };
  }

  it("the second approver is asked once the approval is undone, and the first is not asked again", async () => {
    const { before, to, bounce, asked, needsReview } = await takenBack({});
    expect([before, to()]).to.deep.equal([["first v1"], ["first v1", "second v1"]]);
    await bounce(asked[0]!.messageId);
    expect([to(), await needsReview()]).to.deep.equal([["first v1", "second v1"], false]);
  });

  it("the thread needs review if the second approver cannot be reached after the approval is undone", async () => {
    const { before, to, bounce, asked, needsReview } = await takenBack({ [second]: gone });
    expect([before, to()]).to.deep.equal([["first v1"], ["first v1"]]);
    await bounce(asked[0]!.messageId);
    expect(await needsReview()).to.equal(true);
  });
});

describe("a closed approval link", () => {
  for (const because of ["link_leaked", "wrong_codes"] as const) {
    it(`a link closed because of ${because} leads to one new request, then escalation and review, and no loop`, async () => {
      const { submitted, close, to, needsReview, tellAgain, count } = await world();
      const draftId = await submitted();
      await close(draftId, because, "mail 1");
      expect([to(), await needsReview()]).to.deep.equal([["first v1", "first v1"], false]);
      await close(draftId, because, "mail 2");
      const all = ["first v1", "first v1", "second v1"];
      expect([to(), await needsReview()]).to.deep.equal([all, true]);
      await tellAgain();
      expect([to(), count("DraftEscalated")]).to.deep.equal([all, 1]);
      await close(draftId, because, "mail 3");
      expect(to(), "a mailbox that forwards everything makes no loop").to.deep.equal(all);
    });
  }

  it("without a secondary channel a closed link leads to review, and each new version is asked about again", async () => {
    const { submitted, edit, close, to, needsReview, tellNew } = await world({}, { secondary: false });
    const draftId = await submitted();
    await close(draftId, "link_leaked", "mail 1");
    await close(draftId, "link_leaked", "mail 2");
    expect([to(), await needsReview()]).to.deep.equal([["first v1", "first v1"], true]);
    await edit(draftId, "Another answer.");
    await tellNew();
    await close(draftId, "link_leaked", "mail 3");
    expect(to().slice(2)).to.deep.equal(["first v2", "first v2"]);
  });
});
