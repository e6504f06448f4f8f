import { expect } from "chai";
import type { Channel, ChannelRequest, Channels } from "#src/channels/channel.ts";
import { pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { expireRequests } from "#src/processes/expireRequests.ts";
import { notifyApprovers } from "#src/processes/notifyApprovers.ts";
import { setAsideWhilePaused } from "#src/processes/setAsideWhilePaused.ts";
import type { DraftCommand } from "#streams/draft/decider.ts";
import { Crashed } from "#test/support/faultyEventStore.ts";
import { fire, tell } from "#test/support/processContext.ts";
import { first } from "./sendSoundness.ts";
import { cause, createSendWorld, type SendWorld, workspaceId } from "./sendWorld.ts";

const hour = 3_600_000;
const T = 72 * hour;
const email = (to: string) => ({ type: "email" as const, config: { to } });
const chat = { type: "telegram" as const, config: { bot_token: "1:token", chat_id: "7" } };

/** The send path with the processes that ask and expire, on channels that accept every request. */
async function world(settings: Parameters<SendWorld["changeIdentity"]>[0] = {}) {
  const made = await createSendWorld();
  await made.changeIdentity({ approvalChannel: email("first@approvers.example"), ...settings });
  const asked: string[] = [];
  const tokens: string[] = [];
  const again: string[] = [];
  const limit = { fullMs: 0 };
  const channel: Channel = {
    async takeRoom() {
      const { fullMs: inMs } = limit;
      return inMs > 0 ? { reached: false, again: true, error: "full", inMs } : { giveBack: async () => undefined };
    },
    async ask({ channel: { config }, view, tokens: its }: ChannelRequest) {
      asked.push(`${config.to ?? config.chat_id} v${view.version}`);
      again.push(view.askedAgain?.by ?? "first");
      tokens.push(its.approve, its.reject);
      return { reached: true as const };
    },
  };
  const channels: Channels = { email: channel, telegram: channel, slack: channel };
  const processes = [expireRequests(made.node), notifyApprovers(made.node, channels)];
  made.node.processes.push(...processes.map(setAsideWhilePaused));
  await made.drain();
  const does = (draftId: string, command: DraftCommand) => made.node.drafts.handle(draftId, command, cause);
  return {
    ...made,
    asked,
    tokens,
    again,
    channels,
    limit,
    does,
    types: (...wanted: string[]) => made.log.all.map(({ type }) => type).filter((type) => wanted.includes(type)),
    async needsReview() {
      return (await made.state.thread()).needsReview;
    },
  };
}
type World = Awaited<ReturnType<typeof world>>;

const second = { secondaryApprovalChannel: email("second@approvers.example"), escalationDelayMinutes: 30 };
const ends = ({ types }: World) => types("RequestsRepeated", "RequestsExpired");
const changes = { type: "RequestChanges", text: "Say when.", ifVersion: null, contentSha256: null } as const;
const askForChanges = { ...changes, tokenSha256: null, requester: "session:ann" } as const;

describe("approval requests that run out", () => {
  it("a version is asked about once more when its links end, and is marked when those end", async () => {
    const w = await world();
    await w.submit();
    await w.advance(T - 1);
    expect([w.asked.length, ends(w)]).to.deep.equal([1, []]);
    await w.advance(1);
    expect(w.asked).to.deep.equal(Array(2).fill("first@approvers.example v1"));
    expect(w.again).to.deep.equal(["first", "service"]);
    expect(new Set(w.tokens).size).to.equal(4);
    expect(await w.needsReview()).to.equal(false);
    await w.advance(T - 1);
    expect(ends(w)).to.deep.equal(["RequestsRepeated"]);
    await w.advance(1);
    expect(ends(w)).to.deep.equal(["RequestsRepeated", "RequestsExpired"]);
    expect(await w.needsReview()).to.equal(true);
    // Every event once more, and a year.
    w.replayAll();
    await w.run();
    await w.advance(365 * 24 * hour);
    expect([w.asked.length, ends(w).length]).to.deep.equal([2, 2]);
  });

  it("every channel that was asked is asked once more, as it is then, without another escalation", async () => {
    const w = await world(second);
    await w.submit();
    await w.advance(30 * 60_000);
    w.asked.length = 0;
    await w.changeIdentity({ secondaryApprovalChannel: chat });
    await w.drain();
    await w.advance(0);
    // The new approver is asked, and the time begins with that.
    expect(w.asked.splice(0)).to.deep.equal(["7 v1"]);
    await w.advance(T - 1);
    expect(w.asked).to.deep.equal([]);
    await w.advance(1);
    expect([w.asked, w.types("DraftEscalated")]).to.deep.equal([
      ["first@approvers.example v1", "7 v1"],
      ["DraftEscalated"],
    ]);
  });

  it("a request to notify, and a new version, begin the time anew", async () => {
    const w = await world();
    const draftId = await w.submit();
    await w.advance(48 * hour);
    await w.does(draftId, { type: "RequestNotify", at: w.clock.now().toISOString(), throttleSeconds: 60 });
    await w.drain();
    await w.advance(T - 1);
    expect([w.again, ends(w)]).to.deep.equal([["first", "first"], []]);
    await w.edit(draftId, "Another answer.");
    await w.advance(T - 1);
    expect([w.asked.length, ends(w)]).to.deep.equal([3, []]);
    await w.advance(1);
    expect(w.asked.slice(2)).to.deep.equal(Array(2).fill("first@approvers.example v2"));
    // After the mark an agent may ask again; that request is asked about once more, too.
    await w.advance(T);
    await w.does(draftId, { type: "RequestNotify", at: w.clock.now().toISOString(), throttleSeconds: 60 });
    await w.drain();
    await w.advance(T);
    await w.advance(T);
    expect(ends(w)).to.deep.equal(["RequestsRepeated", "RequestsExpired", "RequestsRepeated", "RequestsExpired"]);
  });

  it("an escalation that is still due stops the time, until it comes or cannot come any more", async () => {
    const days = 7;
    const w = await world({ ...second, escalationDelayMinutes: days * 24 * 60 });
    await w.submit();
    await w.advance(T + hour);
    expect(ends(w)).to.deep.equal([]);
    await w.changeIdentity({ secondaryApprovalChannel: null });
    await w.drain();
    await w.advance(0);
    expect([w.asked.length, ends(w)]).to.deep.equal([2, ["RequestsRepeated"]]);

    const other = await world({ ...second, escalationDelayMinutes: days * 24 * 60 });
    await other.submit();
    await other.advance(days * 24 * hour);
    expect([other.asked.at(-1), ends(other)]).to.deep.equal(["second@approvers.example v1", []]);
    await other.advance(T);
    expect([other.asked.length, ends(other)]).to.deep.equal([4, ["RequestsRepeated"]]);
  });

  it("an open request for changes stops the time, also after its reminder", async () => {
    const w = await world();
    const draftId = await w.submit();
    await w.does(draftId, askForChanges);
    await w.does(draftId, { type: "RemindOfChanges" });
    await w.advance(3 * T);
    expect([w.asked.length, ends(w)]).to.deep.equal([1, []]);
    await w.does(draftId, { type: "WithdrawChangesRequest", requester: "session:ann" });
    await w.drain();
    await w.advance(T - 1);
    expect([w.asked.length, ends(w)]).to.deep.equal([2, []]);
    await w.advance(1);
    expect([w.asked.length, ends(w)]).to.deep.equal([3, ["RequestsRepeated"]]);
  });

  it("a draft that escalated while changes were requested is asked about on both channels when the request is withdrawn", async () => {
    const w = await world(second);
    const draftId = await w.submit();
    await w.does(draftId, askForChanges);
    await w.does(draftId, { type: "RemindOfChanges" });
    await w.drain();
    await w.advance(hour);
    expect([w.asked.length, w.types("DraftEscalated")]).to.deep.equal([1, ["DraftEscalated"]]);
    await w.advance(2 * T);
    await w.does(draftId, { type: "WithdrawChangesRequest", requester: "session:ann" });
    await w.drain();
    expect(w.asked.slice(1)).to.deep.equal(["first@approvers.example v1", "second@approvers.example v1"]);
    await w.advance(T);
    expect([w.asked.length, ends(w)]).to.deep.equal([5, ["RequestsRepeated"]]);
  });

  it("an escalation at the very time at which the requests end begins the time anew", async () => {
    const w = await world({ ...second, escalationDelayMinutes: 72 * 60 });
    await w.submit();
    await w.advance(T);
    expect([w.asked, ends(w)]).to.deep.equal([["first@approvers.example v1", "second@approvers.example v1"], []]);
    await w.advance(T);
    expect([w.asked.length, ends(w)]).to.deep.equal([4, ["RequestsRepeated"]]);
  });

  const pauses: Record<string, [pause: (w: World) => Promise<unknown>, resume: (w: World) => Promise<unknown>]> = {
    operator: [(w) => pauseInstallation(w.node, null, cause), (w) => resumeInstallation(w.node, null, cause)],
    workspace: [
      (w) => w.node.workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused: true }, cause),
      (w) => w.node.workspaces.handle(workspaceId, { type: "UpdateWorkspace", sendingPaused: false }, cause),
    ],
  };
  for (const [by, [pause, resume]] of Object.entries(pauses)) {
    it(`a pause by the ${by} stops the time, and what it stopped happens once when it ends`, async () => {
      const w = await world();
      await w.submit();
      await w.advance(T - hour);
      await pause(w);
      await w.advance(3 * T);
      expect([w.asked.length, ends(w), await w.needsReview()]).to.deep.equal([1, [], false]);
      await resume(w);
      await w.drain();
      expect([w.asked.length, ends(w)]).to.deep.equal([2, ["RequestsRepeated"]]);
      await w.advance(T);
      expect([w.asked.length, ends(w)]).to.deep.equal([2, ["RequestsRepeated", "RequestsExpired"]]);
    });
  }

  it("a draft whose customer wrote again is marked at once", async () => {
    const w = await world();
    await w.submit();
    await w.acknowledge(2, [first]);
    await w.advance(T);
    expect([w.asked.length, ends(w), await w.needsReview()]).to.deep.equal([1, ["RequestsExpired"], true]);
  });

  it("a draft whose message was answered otherwise is marked at once", async () => {
    const w = await world();
    await w.submit();
    const other = await w.submit();
    await w.approve(other);
    await w.drain();
    expect((await w.state.draft(other)).status).to.equal("sent");
    await w.advance(T);
    expect([w.asked.length, ends(w), await w.needsReview()]).to.deep.equal([2, ["RequestsExpired"], true]);
  });

  it("nothing is asked or marked about a draft that is decided at the same moment", async () => {
    for (const decision of [
      { type: "RejectDraft", reason: null, ifVersion: null, tokenSha256: null },
      { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: false, tokenSha256: null },
    ] as const) {
      const w = await world();
      const draftId = await w.submit();
      w.sleepThrough(T);
      await w.does(draftId, decision);
      await w.advance(0);
      await w.run();
      expect([w.asked.length, ends(w)]).to.deep.equal([1, []]);
    }
  });

  it("a draft that is decided or edited between the repetition and its request is not asked about for it", async () => {
    for (const then of ["reject", "edit"] as const) {
      const w = await world();
      const draftId = await w.submit();
      w.sleepThrough(T);
      await fire(expireRequests(w.node), timerOf(w, draftId), { clock: w.clock });
      if (then === "reject")
        await w.does(draftId, { type: "RejectDraft", reason: null, ifVersion: null, tokenSha256: null });
      else await w.edit(draftId, "Another answer.");
      await w.drain();
      const about =
        then === "reject"
          ? ["first@approvers.example v1"]
          : ["first@approvers.example v1", "first@approvers.example v2"];
      expect([w.asked, ends(w)]).to.deep.equal([about, ["RequestsRepeated"]]);
    }
  });

  it("a channel that is gone is not asked once more, and the draft is marked all the same", async () => {
    const w = await world();
    await w.submit();
    await w.advance(hour);
    await w.changeIdentity({ approvalChannel: null });
    await w.advance(T);
    expect([w.asked.length, ends(w)]).to.deep.equal([1, ["RequestsRepeated"]]);
    await w.advance(T);
    expect([w.asked.length, ends(w)]).to.deep.equal([1, ["RequestsRepeated", "RequestsExpired"]]);
    expect(await w.needsReview()).to.equal(true);
  });

  it("a draft about which nobody was asked does not run out", async () => {
    const w = await world({ approvalChannel: null });
    await w.submit();
    await w.advance(3 * T);
    expect([w.asked.length, ends(w)]).to.deep.equal([0, []]);
  });

  it("both channels are asked once more if several approvals are required, also after one of them", async () => {
    const w = await world({ ...second, approvalsRequired: 2 });
    const draftId = await w.submit();
    await w.advance(0);
    const voting = { voter: "mailbox:first@approvers.example", place: null, required: 2, keysCount: true, lapsed: [] };
    const vote = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
    await w.does(draftId, { ...vote, tokenSha256: null, voting });
    w.asked.length = 0;
    await w.advance(T);
    expect(w.asked).to.deep.equal(["first@approvers.example v1", "second@approvers.example v1"]);
  });

  const timerOf = (w: World, draftId: string) =>
    [...w.timers.values()].find(({ process, timer }) => process === "expireRequests" && timer.key === draftId)!.timer;

  it("two instances with the same timer ask once more about a version, and mark it once", async () => {
    const w = await world();
    const draftId = await w.submit();
    for (const expected of [["RequestsRepeated"], ["RequestsRepeated", "RequestsExpired"]]) {
      const timer = timerOf(w, draftId);
      w.sleepThrough(T);
      const others = [w.createNode(), w.createNode()].map((node) => expireRequests(node));
      await Promise.all(others.map((process) => fire(process, timer, { clock: w.clock })));
      await w.drain();
      expect(ends(w)).to.deep.equal(expected);
    }
    expect(w.asked).to.have.length(2);
  });

  for (const when of ["before", "after"] as const) {
    for (const how of ["crash", "unavailable"] as const) {
      it(`a version is asked about once more after a fault (${how}) ${when} the append`, async () => {
        const w = await world();
        const draftId = await w.submit();
        const timer = timerOf(w, draftId);
        w.sleepThrough(T);
        const failed = await Promise.resolve(
          fire(expireRequests(w.createNode({ at: 1, when, how })), timer, { clock: w.clock }),
        ).catch((error: unknown) => error);
        expect(failed instanceof Crashed || failed instanceof Unavailable).to.equal(true);
        await fire(expireRequests(w.createNode()), timer, { clock: w.clock });
        await w.drain();
        expect([w.asked.length, ends(w)]).to.deep.equal([2, ["RequestsRepeated"]]);
      });
    }
  }

  for (const when of ["before", "after"] as const) {
    it(`a repetition is asked once although its instance ends ${when} the request is recorded`, async () => {
      const w = await world();
      const draftId = await w.submit();
      w.sleepThrough(T);
      await fire(expireRequests(w.node), timerOf(w, draftId), { clock: w.clock });
      const event = w.log.all.findLast(({ type }) => type === "RequestsRepeated")!;
      const dying = w.createNode({ at: 1, when, how: "crash" });
      const failed = await Promise.resolve(tell(notifyApprovers(dying, w.channels), event)).catch((error) => error);
      expect([failed instanceof Crashed, w.asked.length]).to.deep.equal([true, 1]);
      await w.drain();
      expect([w.asked.length, ends(w)]).to.deep.equal([2, ["RequestsRepeated"]]);
    });
  }

  it("repetitions wait for our mail limits, happen once, and begin their time with the request", async () => {
    const w = await world();
    const drafts = [await w.submit(), await w.submit(), await w.submit()];
    w.limit.fullMs = 5 * hour;
    await w.advance(T);
    await w.advance(hour);
    expect([w.asked.length, ends(w)]).to.deep.equal([3, Array(3).fill("RequestsRepeated")]);
    w.limit.fullMs = 0;
    await w.advance(4 * hour);
    expect(w.asked).to.have.length(6);
    // One is decided while it waits for the end.
    await w.does(drafts[0]!, { type: "RejectDraft", reason: null, ifVersion: null, tokenSha256: null });
    await w.advance(T - 1);
    expect(ends(w)).to.have.length(3);
    await w.advance(1);
    expect([w.asked.length, w.types("RequestsExpired").length]).to.deep.equal([6, 2]);
  });

  it("a timer that is set from an old event again, as after a restore, waits for the newest request", async () => {
    const w = await world();
    const draftId = await w.submit();
    await w.advance(48 * hour);
    await w.does(draftId, { type: "RequestNotify", at: w.clock.now().toISOString(), throttleSeconds: 60 });
    await w.drain();
    const early = { ...timerOf(w, draftId), dueAt: w.clock.now() };
    const timers: (typeof early)[] = [];
    await w.advance(24 * hour);
    await fire(expireRequests(w.node), early, { clock: w.clock, timers });
    expect([ends(w), timers.map(({ dueAt }) => dueAt.getTime() - w.clock.now().getTime())]).to.deep.equal([
      [],
      [48 * hour],
    ]);
  });
});
