import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Actor } from "#streams/event.ts";
import { draftContent } from "#test/support/draftContent.ts";
import {
  abandoned,
  accepted,
  bounced,
  chatLink,
  deliver,
  delivered,
  history,
  key,
  mailLink,
  refused,
  rule,
  sentBy,
  session,
  settled,
  slack,
  started,
  telegram,
  unknown,
} from "#test/support/draftLife.ts";
import {
  approved,
  asked,
  closed,
  edited,
  failed,
  markedStale,
  notReached,
  overLimit,
  queued,
  reached,
  refreshed,
  rejected,
  requeued,
  submitted,
} from "#test/support/examples/drafts.ts";

type Authorisation = Extract<DraftEvent, { type: "DraftQueued" }>["data"]["authorisation"];
const byKey: Authorisation = { kind: "api_key", approvedVersion: 1 };
const byAuto: Authorisation = { kind: "auto", approvedVersion: 1 };
const vote = (voter: string, version = 1): DraftEvent => ({
  type: "ApprovalGiven",
  data: { version, contentSha256: `hash ${version}`, tokenSha256: null, sendRequested: true, voter, required: 2 },
});
const quorum = { required: 2, voters: ["telegram:4711", "mailbox:primary@approvers.example"] };
const returned = (because: string): [DraftEvent, Actor] => [
  { type: "DraftReturnedToPending", data: { because } },
  deliver,
];
const held = (code: string, message: string): [DraftEvent, Actor] => [
  { type: "SendHeld", data: { code, message } },
  deliver,
];
const lateEvidence = (outcome: "accepted" | "refused"): [DraftEvent, Actor] => [
  { type: "LateEvidence", data: { attemptId: "attempt 1", outcome } },
  deliver,
];
export const rejectedBy = (who: Actor, reason: string): [DraftEvent, Actor] => [
  { type: "DraftRejected", data: { version: 1, reason, tokenSha256: null } },
  who,
];
const isAsked = [
  [asked("n1"), deliver],
  [reached("n1"), deliver],
] as [DraftEvent, Actor][];
export const approvedBy = (who: Actor): [DraftEvent, Actor] => [approved(1, { sendRequested: true }), who];
export const leaves = [[queued(1), deliver], started(), accepted(), sentBy()] as const;
const sentWithout = (authorisation: Authorisation) =>
  [[queued(1, { authorisation }), deliver], started(), accepted(), sentBy()] as const;

/** Drafts in every notable situation, by the name of the situation: their histories, and the sentence that describes it. */
export const lives: Record<string, [history: LifeEvent[], sentence: string]> = {};
const life = (name: string, events: LifeEvent[], sentence: string) => {
  lives[name] = [events, sentence];
};

life(
  "sent by the link of an approval mail",
  history(submitted(), ...isAsked, approvedBy(mailLink), ...leaves),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:03 UTC by a person with the link from an approval mail to primary@approvers.example, after the request for a decision had gone to primary@approvers.example by mail on 21 Nov 2026, 10:02 UTC.",
);
life(
  "sent by a link into a chat",
  history(submitted(), approvedBy(chatLink), ...leaves),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person who followed a link in Slack.",
);
life(
  "sent by a Telegram user",
  history(
    submitted(),
    [asked("n1", { type: "telegram", address: "1:2" }), deliver],
    [reached("n1"), deliver],
    approvedBy(telegram),
    ...leaves,
  ),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:03 UTC by “Ada” (Telegram user 4711), after the request for a decision had gone to the Telegram channel on 21 Nov 2026, 10:02 UTC.",
);
life(
  "sent by a Slack user",
  history(submitted(), approvedBy(slack), ...leaves),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by “Grace” (Slack user U0815).",
);
life(
  "sent by somebody signed in",
  history(submitted(), approvedBy(session), ...leaves),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by “Joan” (joan@office.example), who was signed in.",
);
life(
  "sent by several",
  history(
    submitted(),
    [vote("telegram:4711"), telegram],
    [vote("mailbox:primary@approvers.example"), mailLink],
    [approved(1, { quorum }), mailLink],
    ...leaves,
  ),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:03 UTC by the required number of approvers (2): by “Ada” (Telegram user 4711) on 21 Nov 2026, 10:01 UTC and a person with the link from an approval mail to primary@approvers.example on 21 Nov 2026, 10:02 UTC.",
);
life(
  "approved by a key, sent by it",
  history(submitted(), approved(1), [queued(1), key], started(), accepted(), sentBy()),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by the API key “agent”; the API key “agent” sent it on 21 Nov 2026, 10:02 UTC.",
);
life(
  "approved by a person, sent by a key",
  history(submitted(), [approved(1), mailLink], [queued(1), key], started(), accepted(), sentBy()),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; the API key “agent” sent it on 21 Nov 2026, 10:02 UTC.",
);
life(
  "sent by a key that nobody had approved",
  history(submitted(), [queued(1, { authorisation: byKey }), key], started(), accepted(), sentBy()),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because the API key “agent” sent version 1 on 21 Nov 2026, 10:01 UTC, on its own authority.",
);
life(
  "written and sent by one call",
  history(
    submitted({ kind: "send", approvedAtOnce: true }),
    approved(1),
    [queued(1, { authorisation: byKey }), key],
    started(),
    accepted(),
    sentBy(),
  ),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because the API key “agent” wrote and sent it in one call on 21 Nov 2026, 10:01 UTC, on its own authority.",
);
life(
  "sent by a rule",
  history(
    submitted(),
    [approved(1, { sendRequested: true, grantedBy: { runId: "run", ruleId: "rule-1" } }), rule],
    ...sentWithout(byAuto),
  ),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by the rule “Trusted first”, not by a person.",
);
life(
  "sent by the setting",
  history(submitted({ autoApproved: true }), ...sentWithout(byAuto)),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:00 UTC by the identity's setting auto_approve_replies, not by a person.",
);
life(
  "approved by a rule, sent by a key",
  history(
    submitted(),
    [approved(1, { sendRequested: true }), rule],
    [queued(1, { authorisation: byKey }), key],
    started(),
    accepted(),
    sentBy(),
  ),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because the API key “agent” sent version 1 on 21 Nov 2026, 10:02 UTC, on its own authority.",
);
life(
  "caught in the outbox",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started("outbox"), accepted(), sentBy()),
  "Caught in the test outbox, which delivers nothing, on 1 Jan 2026, 12:00 UTC; it was addressed to ann@customer.example, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "sent, and returned",
  history(submitted(), approvedBy(mailLink), ...leaves, delivered, bounced),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; a delivery was reported on 21 Nov 2026, 10:06 UTC; it was reported as bounced on 21 Nov 2026, 10:07 UTC.",
);
life(
  "sent to many, refused for one",
  history(
    submitted({
      content: draftContent({ cc: ["b@x.example", "C@x.example", "d@x.example", "e@x.example", "f@x.example"] }),
    }),
    approvedBy(mailLink),
    [queued(1), deliver],
    started(),
    accepted(["c@x.example"]),
    sentBy(),
  ),
  "Sent to ann@customer.example, b@x.example, d@x.example and 2 others by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; the provider refused c@x.example.",
);
life(
  "sent at the second attempt",
  history(
    submitted(),
    approvedBy(mailLink),
    [queued(1), deliver],
    started(),
    refused(true),
    [requeued, deliver],
    started("sendgrid"),
    accepted(),
    sentBy("attempt 2"),
  ),
  "Sent to ann@customer.example through SendGrid on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "sent after an unknown outcome",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), unknown, settled("accepted"), sentBy()),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "sent in its second version, shown in its second version",
  history(
    submitted(),
    ...isAsked,
    edited(2),
    [asked("n2", { version: 2 }), deliver],
    [reached("n2"), deliver],
    [approved(2), mailLink],
    [queued(2), key],
    started(),
    accepted(),
    sentBy(),
  ),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 2 was approved on 21 Nov 2026, 10:06 UTC by a person with the link from an approval mail to primary@approvers.example, after the request for a decision had gone to primary@approvers.example by mail on 21 Nov 2026, 10:05 UTC; the API key “agent” sent it on 21 Nov 2026, 10:07 UTC.",
);

life(
  "waiting, asked",
  history(submitted(), ...isAsked),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request went to primary@approvers.example by mail on 21 Nov 2026, 10:02 UTC.",
);
life(
  "waiting, asked of two",
  history(
    submitted(),
    ...isAsked,
    [asked("n2", { slot: "secondary", type: "slack" }), deliver],
    [reached("n2"), deliver],
  ),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request went to primary@approvers.example by mail on 21 Nov 2026, 10:02 UTC and the Slack channel on 21 Nov 2026, 10:04 UTC.",
);
life(
  "waiting, not reached yet",
  history(submitted(), [asked("n1"), deliver]),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request to primary@approvers.example by mail of 21 Nov 2026, 10:01 UTC has not been reported as delivered.",
);
life(
  "waiting, not reached",
  history(submitted(), [asked("n1"), deliver], [notReached("n1"), deliver]),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request to primary@approvers.example by mail did not arrive: “550 no such user”.",
);
life(
  "waiting, came back",
  history(submitted(), ...isAsked, [notReached("n1"), deliver]),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request to primary@approvers.example by mail did not arrive: “550 no such user”.",
);
life(
  "waiting, link closed",
  history(submitted(), ...isAsked, [closed("n1", "link_leaked"), deliver]),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request to primary@approvers.example by mail was closed on 21 Nov 2026, 10:03 UTC.",
);
life(
  "waiting, nobody asked",
  history(submitted()),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; no request for a decision has been made.",
);
life(
  "waiting for the second of two",
  history(submitted(), ...isAsked, [vote("telegram:4711"), telegram]),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request went to primary@approvers.example by mail on 21 Nov 2026, 10:02 UTC; 1 of 2 approvals given, by “Ada” (Telegram user 4711) on 21 Nov 2026, 10:03 UTC.",
);
life(
  "waiting after an edit",
  history(submitted(), ...isAsked, edited(2)),
  "Not sent: version 2 has waited for a decision since 21 Nov 2026, 10:03 UTC; no request for a decision has been made.",
);
life(
  "waiting after the service's change",
  history(submitted(), ...isAsked, approvedBy(mailLink), [refreshed(2), deliver]),
  "Not sent: version 2 has waited for a decision since 21 Nov 2026, 10:04 UTC, when the service made it because the identity had changed; no request for a decision has been made.",
);
life(
  "waiting after an approval was taken back",
  history(submitted({ autoApproved: true }), returned("the rule Careful requires a person's approval")),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:01 UTC, when its approval was undone: “the rule Careful requires a person's approval”; no request for a decision has been made.",
);
life(
  "waiting after its requests expired",
  history(submitted(), ...isAsked, [{ type: "RequestsExpired", data: { version: 1 } }, deliver]),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; the request went to primary@approvers.example by mail on 21 Nov 2026, 10:02 UTC; the requests had expired by 21 Nov 2026, 10:03 UTC, and nobody is asked again by itself.",
);

life(
  "waiting because of the limit of answers",
  history(submitted({ autoApproved: true }), returned(overLimit)),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:01 UTC, when its approval was undone: “10 answers to this address were sent within an hour that no person approved, which is the limit”; no request for a decision has been made.",
);

life(
  "approved, not sent by anybody",
  history(submitted(), [approved(1), mailLink]),
  "Not sent: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example, and it has not been sent since.",
);
life(
  "approved, about to be queued",
  history(submitted(), approvedBy(mailLink)),
  "Not sent yet: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example, and it has not been queued since.",
);
life(
  "approved, held",
  history(submitted(), approvedBy(mailLink), held("sending_paused", "sending is paused in this workspace")),
  "Not sent: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example, but its sending is held since 21 Nov 2026, 10:02 UTC (sending_paused): “sending is paused in this workspace”.",
);
life(
  "approved by the setting, held",
  history(submitted({ autoApproved: true }), held("plan_limit_reached", "no mail left")),
  "Not sent: version 1 was approved on 21 Nov 2026, 10:00 UTC by the identity's setting auto_approve_replies, not by a person, but its sending is held since 21 Nov 2026, 10:01 UTC (plan_limit_reached): “no mail left”.",
);

life(
  "queued",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver]),
  "Not sent yet: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; its hand-over has not begun.",
);
life(
  "sending, begun",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started()),
  "Possibly sent: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; its hand-over by SMTP began on 21 Nov 2026, 10:03 UTC; its result is not recorded yet.",
);
life(
  "sending, given up",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], abandoned),
  "Not sent yet: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; its last attempt was abandoned on 21 Nov 2026, 10:03 UTC before anything was handed over: “no connection”.",
);
life(
  "sending, not handed over",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), [
    { type: "DeliveryNotHandedOver", data: { message: "no connection" } },
    deliver,
  ]),
  "Not sent yet: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; nothing was handed over at its last attempt on 21 Nov 2026, 10:04 UTC: “no connection”.",
);
life(
  "sending, refused for now",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), refused(true)),
  "Not sent yet: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; the provider refused it for now on 21 Nov 2026, 10:04 UTC: “550 no such user”.",
);
life(
  "sending, unknown",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), unknown),
  "Possibly sent: version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example; it is not known whether the provider accepted it on 21 Nov 2026, 10:03 UTC.",
);
life(
  "sending, taken",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), accepted()),
  "Sent to ann@customer.example by SMTP on 21 Nov 2026, 10:04 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);

life(
  "stale before a decision",
  history(submitted(), ...isAsked, [markedStale, deliver]),
  "Not sent: a newer message (newer) had arrived in its conversation, so it was stopped on 21 Nov 2026, 10:03 UTC.",
);
life(
  "stale after an approval",
  history(submitted(), approvedBy(mailLink), [markedStale, mailLink]),
  "Not sent: a newer message (newer) had arrived in its conversation, so it was stopped on 21 Nov 2026, 10:02 UTC; version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);

life(
  "rejected with a reason",
  history(submitted(), ...isAsked, [
    { type: "DraftRejected", data: { version: 1, reason: "The price is wrong.", tokenSha256: "t" } },
    mailLink,
  ]),
  "Not sent: version 1 was rejected on 21 Nov 2026, 10:03 UTC by a person with the link from an approval mail to primary@approvers.example, with the reason “The price is wrong.”.",
);
life(
  "rejected without a reason",
  history(submitted(), [rejected(1), key]),
  "Not sent: version 1 was rejected on 21 Nov 2026, 10:01 UTC by the API key “agent”, without a reason.",
);
life(
  "rejected after it went stale",
  history(submitted(), [markedStale, deliver], [rejected(1), key]),
  "Not sent: version 1 was rejected on 21 Nov 2026, 10:02 UTC by the API key “agent”, without a reason; a newer message had stopped it on 21 Nov 2026, 10:01 UTC.",
);

life(
  "failed: refused",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), refused(), [failed("550"), deliver]),
  "Not sent: it ended as failed on 21 Nov 2026, 10:05 UTC (550): “no”; version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "failed: unconfirmed",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), unknown, settled("unconfirmed"), [
    failed("unconfirmed"),
    deliver,
  ]),
  "It is not known whether it was sent: it ended as failed on 21 Nov 2026, 10:06 UTC (unconfirmed): “no”; version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "failed: an internal error in the middle of it",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), [failed("internal"), deliver]),
  "It is not known whether it was sent: it ended as failed on 21 Nov 2026, 10:04 UTC (internal): “no”; version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "failed: an internal error after it was taken",
  history(submitted(), approvedBy(mailLink), [queued(1), deliver], started(), accepted(), [
    failed("internal"),
    deliver,
  ]),
  "Accepted by the provider on 21 Nov 2026, 10:04 UTC, although it ended as failed on 21 Nov 2026, 10:05 UTC (internal): “no”; version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "failed: the call that wrote it was refused",
  history(submitted({ kind: "send" }), [
    { type: "DraftFailed", data: { attemptId: null, code: "plan_limit_reached", message: "no mail left" } },
    key,
  ]),
  "Not sent: it was withdrawn before any attempt to send it; it ended as failed on 21 Nov 2026, 10:01 UTC (plan_limit_reached): “no mail left”.",
);
life(
  "failed: what approved it did so no longer",
  history(
    submitted(),
    [approved(1, { sendRequested: true }), rule],
    [queued(1, { authorisation: byAuto }), deliver],
    abandoned,
    [failed("approval_withdrawn"), deliver],
  ),
  "Not sent: when it was about to be sent, its approval was no longer valid; it ended as failed on 21 Nov 2026, 10:04 UTC (approval_withdrawn): “no”; version 1 was approved on 21 Nov 2026, 10:01 UTC by the rule “Trusted first”, not by a person.",
);
life(
  "failed: later evidence says sent",
  history(
    submitted(),
    approvedBy(mailLink),
    [queued(1), deliver],
    started(),
    unknown,
    settled("unconfirmed"),
    [failed("unconfirmed"), deliver],
    settled("accepted"),
    lateEvidence("accepted"),
  ),
  "Sent to ann@customer.example, as evidence of 21 Nov 2026, 10:08 UTC shows; before that, it ended as failed on 21 Nov 2026, 10:06 UTC (unconfirmed): “no”; version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);
life(
  "failed: later evidence says not sent",
  history(
    submitted(),
    approvedBy(mailLink),
    [queued(1), deliver],
    started(),
    unknown,
    settled("unconfirmed"),
    [failed("unconfirmed"), deliver],
    settled("refused"),
    lateEvidence("refused"),
  ),
  "Not sent, as evidence of 21 Nov 2026, 10:08 UTC shows; before that, it ended as failed on 21 Nov 2026, 10:06 UTC (unconfirmed): “no”; version 1 was approved on 21 Nov 2026, 10:01 UTC by a person with the link from an approval mail to primary@approvers.example.",
);

const signedIn = (sendAfter: string | null = null): [DraftEvent, Actor] => [
  approved(1, { sendRequested: true, approver: "session:user-1", ...(sendAfter !== null && { sendAfter }) }),
  session,
];
const undone: [DraftEvent, Actor] = [
  { type: "DraftReturnedToPending", data: { because: "taken back", withdrawn: "session:user-1" } },
  session,
];

life(
  "approved by somebody signed in, who may take it back",
  history(submitted(), signedIn("2026-11-21T10:01:10.000Z")),
  "Not sent yet: version 1 was approved on 21 Nov 2026, 10:01 UTC by “Joan” (joan@office.example), who was signed in, and it is not sent before 21 Nov 2026, 10:01 UTC.",
);
life(
  "waiting after somebody took their approval back",
  history(submitted(), signedIn(), undone),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:02 UTC, when its approval was undone by “Joan” (joan@office.example), who was signed in; no request for a decision has been made.",
);
life(
  "waiting for two after one took theirs back",
  history(
    submitted(),
    [vote("telegram:4711"), telegram],
    [vote("session:user-1"), session],
    [{ type: "ApprovalWithdrawn", data: { version: 1, voter: "session:user-1" } }, session],
  ),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:00 UTC; no request for a decision has been made; 1 of 2 approvals given, by “Ada” (Telegram user 4711) on 21 Nov 2026, 10:01 UTC.",
);
life(
  "waiting for two after the last one took theirs back",
  history(
    submitted(),
    [vote("telegram:4711"), telegram],
    [vote("session:user-1"), session],
    [
      approved(1, { quorum: { required: 2, voters: ["telegram:4711", "session:user-1"] }, approver: "session:user-1" }),
      session,
    ],
    undone,
  ),
  "Not sent: version 1 has waited for a decision since 21 Nov 2026, 10:04 UTC, when its approval was undone by “Joan” (joan@office.example), who was signed in; no request for a decision has been made; 1 of 2 approvals given, by “Ada” (Telegram user 4711) on 21 Nov 2026, 10:01 UTC.",
);
life(
  "written and approved by somebody signed in",
  history([submitted({ approvedAtOnce: true }), session], signedIn(), ...leaves),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because version 1 was approved on 21 Nov 2026, 10:01 UTC by “Joan” (joan@office.example), who was signed in.",
);
life(
  "sent by a key after the service changed what somebody signed in had written",
  history(
    [submitted({ approvedAtOnce: true }), session],
    signedIn(),
    [refreshed(2), deliver],
    [queued(2, { authorisation: { kind: "api_key", approvedVersion: 2 } }), key],
    started(),
    accepted(),
    sentBy(),
  ),
  "Sent to ann@customer.example by SMTP on 1 Jan 2026, 12:00 UTC, because the API key “agent” sent version 2 on 21 Nov 2026, 10:03 UTC, on its own authority.",
);
