import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent, LinkClosure } from "#streams/draft/events.ts";
import {
  deliveredNotifications,
  findToken,
  type NotificationCommand,
  openNotifications,
  reopensQuestion,
} from "#streams/draft/notification.ts";
import {
  approved,
  asked,
  closed,
  edited,
  notReached,
  reached,
  refusedCode,
  rejected,
  submitted,
} from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const draft = (...events: DraftEvent[]) => given(draftDecider, ...events);
const stateOf = (...events: DraftEvent[]) => fold(draftDecider, events);
const close = (notificationId: string, because: LinkClosure, messageId?: string): NotificationCommand => ({
  type: "CloseApprovalLink",
  notificationId,
  because,
  ...(messageId !== undefined && { messageId }),
});
const refuse = (notificationId: string): NotificationCommand => ({ type: "RefuseConfirmCode", notificationId });
const approve = (tokenSha256: string) =>
  ({ type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: false, tokenSha256 }) as const;
const reject = (tokenSha256: string) => ({ type: "RejectDraft", reason: null, ifVersion: null, tokenSha256 }) as const;
const wrong = (times: number, notificationId = "one") =>
  Array.from({ length: times }, () => refusedCode(notificationId));

describe("a link to a draft", () => {
  it("a closed link is recognised and decides nothing, while another link of the version does", () => {
    const events = [submitted(), asked("one"), asked("two"), closed("one", "link_leaked", "mail")];
    expect(findToken(stateOf(...events), "one approve")).to.include({ closed: "link_leaked", decision: "approve" });
    expect(findToken(stateOf(...events), "two reject")).to.include({ closed: null, decision: "reject" });
    draft(...events)
      .when(approve("one approve"))
      .thenRejected("link_closed");
    draft(...events)
      .when(reject("one reject"))
      .thenRejected("link_closed");
    draft(...events)
      .when(approve("two approve"))
      .thenTypes("DraftApproved");
    draft(...events)
      .when(reject("two reject"))
      .thenTypes("DraftRejected");
  });

  it("a link is closed once, while its draft is pending, or approved and may be pending again", () => {
    const command = close("one", "link_leaked", "mail");
    const event = closed("one", "link_leaked", "mail");
    draft(submitted(), asked("one")).when(command).then(event);
    draft(submitted(), asked("one"), approved(1)).when(command).then(event);
    for (const events of [
      [submitted()],
      [submitted(), asked("one"), event],
      [submitted(), asked("one"), edited(2)],
      [submitted(), asked("one"), rejected(1)],
    ]) {
      draft(...events)
        .when(command)
        .then();
    }
  });

  for (const because of ["link_leaked", "wrong_codes"] as const) {
    it(`approvers are asked about a version once more after a link was closed because of ${because}, and not again`, () => {
      expect(reopensQuestion(stateOf(submitted(), asked("one")), "one"), "while it is open").to.equal(false);
      const first = [submitted(), asked("one"), closed("one", because, "mail 1")];
      expect(reopensQuestion(stateOf(...first), "one")).to.equal(true);
      const second = [...first, asked("two")];
      draft(...second)
        .when(close("two", because, "mail 2"))
        .thenTypes("ApprovalLinkClosed", "NotificationFailed");
      const failed = draftDecider.decide(close("two", because, "mail 2"), stateOf(...second))[1]!.data;
      expect(failed).to.include({ notificationId: "two", final: true });
      expect("error" in failed && failed.error).to.match(new RegExp(`^${because}: `));
      expect(reopensQuestion(stateOf(...second, closed("two", because, "mail 2")), "two")).to.equal(false);
    });
  }

  it("closed links count by cause and by version, and two links in one message count as one", () => {
    const leaked = [submitted(), asked("one"), closed("one", "link_leaked", "mail 1"), asked("two")];
    draft(...leaked)
      .when(close("two", "wrong_codes"))
      .thenTypes("ApprovalLinkClosed");
    draft(...leaked)
      .when(close("two", "link_leaked", "mail 1"))
      .thenTypes("ApprovalLinkClosed");
    expect(reopensQuestion(stateOf(...leaked, closed("two", "link_leaked", "mail 1")), "two")).to.equal(false);
    // Once the draft is approved, no approver waits for another question.
    draft(...leaked, approved(1))
      .when(close("two", "link_leaked", "mail 2"))
      .thenTypes("ApprovalLinkClosed");
    const anew = [...leaked, edited(2), asked("three", { version: 2 })];
    draft(...anew)
      .when(close("three", "link_leaked", "mail 2"))
      .thenTypes("ApprovalLinkClosed");
    expect(reopensQuestion(stateOf(...anew, closed("three", "link_leaked", "mail 2")), "three")).to.equal(true);
  });

  it("the fifth wrong code closes its link in the same append, and later wrong codes are not counted", () => {
    const events = [submitted(), asked("one"), asked("two")];
    draft(...events, ...wrong(3), ...wrong(4, "two"))
      .when(refuse("one"))
      .then(refusedCode("one"));
    draft(...events, ...wrong(4))
      .when(refuse("one"))
      .then(refusedCode("one"), closed("one", "wrong_codes"));
    const once = [...events, ...wrong(5), closed("one", "wrong_codes")];
    draft(...once)
      .when(refuse("one"))
      .then();
    draft(...once, ...wrong(4, "two"))
      .when(refuse("two"))
      .thenTypes("ConfirmCodeRefused", "ApprovalLinkClosed", "NotificationFailed");
  });
});

describe("a question to approvers", () => {
  const ask = (version: number): NotificationCommand => ({
    type: "AskApprovers",
    asked: asked("one", { version }).data,
  });
  const escalate = (version: number): NotificationCommand => ({ type: "EscalateDraft", version, channelType: "slack" });
  const escalated = (version: number): DraftEvent => ({
    type: "DraftEscalated",
    data: { version, channelType: "slack" },
  });

  it("approvers are asked about the newest version while it is pending, and about nothing else", () => {
    draft(submitted()).when(ask(1)).then(asked("one"));
    draft(submitted(), edited(2)).when(ask(1)).then();
    draft(submitted(), edited(2))
      .when(ask(2))
      .then(asked("one", { version: 2 }));
    for (const last of [approved(1), rejected(1)]) draft(submitted(), last).when(ask(1)).then();
  });

  it("a version goes to the secondary channel once, while it is pending", () => {
    draft(submitted()).when(escalate(1)).then(escalated(1));
    draft(submitted(), escalated(1)).when(escalate(1)).then();
    draft(submitted(), escalated(1), edited(2)).when(escalate(2)).then(escalated(2));
    draft(submitted(), edited(2)).when(escalate(1)).then();
    for (const last of [approved(1), rejected(1)]) draft(submitted(), last).when(escalate(1)).then();
  });

  it("a question is with its approvers from when its channel took it until it comes back", () => {
    const secondary = asked("two", { slot: "secondary" });
    const events = [submitted(), asked("one"), secondary, asked("three")];
    const names = (found: readonly { notificationId: string }[]) => found.map(({ notificationId }) => notificationId);
    const taken = [...events, reached("one"), reached("two")];
    expect(names(deliveredNotifications(stateOf(...events), 1))).to.deep.equal([]);
    expect(names(deliveredNotifications(stateOf(...taken), 1))).to.deep.equal(["one", "two"]);
    expect(names(deliveredNotifications(stateOf(...taken), 2))).to.deep.equal([]);
    expect(names(deliveredNotifications(stateOf(...taken, notReached("one")), 1))).to.deep.equal(["two"]);
    expect(names(openNotifications(stateOf(...taken), "primary"))).to.deep.equal(["one"]);
    expect(names(openNotifications(stateOf(...taken), "secondary"))).to.deep.equal(["two"]);
    expect(names(openNotifications(stateOf(...taken, closed("one", "link_leaked")), "primary"))).to.deep.equal([]);
  });

  it("a question is answered on a channel by the first notification that is taken or fails for good", () => {
    const again = { causedBy: "cause of one" };
    const events = [submitted(), asked("one"), asked("two", again), asked("three", { ...again, slot: "secondary" })];
    const { answered } = stateOf(...events, reached("one"), reached("two"), notReached("three")).notified;
    expect(answered).to.deep.equal(["cause of one primary", "cause of one secondary"]);
    expect(stateOf(...events, notReached("one", { final: false })).notified.answered).to.deep.equal([]);
    expect(stateOf(...events, reached("unknown")).notified.answered).to.deep.equal([]);
  });
});

describe("a notification", () => {
  it("a notification names the chat that took it", () => {
    const message = { chat: "C1", ids: ["7"] };
    const record = { type: "RecordNotified", notificationId: "one" } as const;
    const inChat: DraftEvent = { type: "ApproversNotified", data: { notificationId: "one", message } };
    draft(submitted(), asked("one")).when(record).then(reached("one"));
    draft(submitted(), asked("one"))
      .when({ ...record, message })
      .then(inChat);
    expect(stateOf(submitted(), asked("one"), inChat).notified.messages).to.deep.equal({ one: message });
    expect(stateOf(submitted(), asked("one"), reached("one")).notified.messages).to.deep.equal({});
  });

  it("fails for good once, also after it was taken", () => {
    const command: NotificationCommand = {
      type: "RecordNotificationFailed",
      notificationId: "one",
      error: "it came back",
      final: true,
    };
    const events = [submitted(), asked("one"), reached("one")];
    draft(...events)
      .when(command)
      .then(notReached("one", { error: "it came back" }));
    draft(...events, notReached("one"))
      .when(command)
      .then();
    draft(submitted(), asked("one"), notReached("one", { final: false }))
      .when(command)
      .thenTypes("NotificationFailed");
    draft(...events)
      .when({ ...command, waits: true })
      .then(notReached("one", { error: "it came back", waits: true }));
  });
});
