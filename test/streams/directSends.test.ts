import { expect } from "chai";
import { assistantDecider } from "#streams/assistant/decider.ts";
import type { AssistantEvent } from "#streams/assistant/events.ts";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type ThreadCommand, threadDecider } from "#streams/thread/decider.ts";
import type { InboundMessage, ThreadEvent } from "#streams/thread/events.ts";
import { draftContent } from "#test/support/draftContent.ts";
import { inboundMessage } from "#test/support/examples/index.ts";
import { given } from "#test/support/given.ts";

type Submitted = Extract<DraftEvent, { type: "DraftSubmitted" }>["data"];
const submitted = (different: Partial<Submitted> = {}): Submitted => ({
  content: draftContent(),
  contentBlob: null,
  htmlRemoved: [],
  workspaceId: "workspace",
  threadId: "thread",
  identityId: "identity",
  basedOnMessageId: null,
  basedOnNumber: 0,
  answers: null,
  messageId: "message",
  contentSha256: "hash",
  rationale: null,
  metadata: null,
  staleWarning: false,
  autoApproved: false,
  kind: "send",
  ...different,
});
const approvedAtOnce = submitted({ approvedAtOnce: true });

describe("a draft that its key sends at once", () => {
  it("a draft that its key sends is approved in the same append, for what was submitted, and sends nothing yet", () => {
    given(draftDecider)
      .when({ type: "SubmitDraft", draft: approvedAtOnce })
      .then(
        { type: "DraftSubmitted", data: approvedAtOnce },
        { type: "DraftApproved", data: { version: 1, contentSha256: "hash", sendRequested: false, tokenSha256: null } },
      );
    given(draftDecider).when({ type: "SubmitDraft", draft: submitted() }).thenTypes("DraftSubmitted");
    const events = draftDecider.decide({ type: "SubmitDraft", draft: approvedAtOnce }, draftDecider.initial);
    given(draftDecider, ...events)
      .when({ type: "SubmitDraft", draft: approvedAtOnce })
      .then();
    expect(fold(draftDecider, events)).to.include({ status: "approved", sendRequested: false });
  });

  it("only a draft that was not queued is withdrawn when its direct send is refused", () => {
    const withdraw = { type: "WithdrawDraft", code: "plan_limit_reached", message: "used up" } as const;
    const failed: DraftEvent = {
      type: "DraftFailed",
      data: { attemptId: null, code: "plan_limit_reached", message: "used up" },
    };
    const standing: DraftEvent = { type: "DraftSubmitted", data: submitted() };
    given(draftDecider, standing).when(withdraw).then(failed);
    given(draftDecider, standing, failed).when(withdraw).then();
    const queued: DraftEvent = {
      type: "DraftQueued",
      data: {
        content: draftContent(),
        contentBlob: null,
        attemptId: "attempt",
        version: 1,
        contentSha256: "hash",
        threadId: "thread",
        identityId: "identity",
        messageId: "message",
        quotaStream: "quota",
        reservationId: "reservation",
        authorisation: { kind: "approval", approvedVersion: 1 },
      },
    };
    given(draftDecider, standing, queued).when(withdraw).then();
  });
});

const opening = {
  workspaceId: "workspace",
  identityId: "identity",
  subject: "s",
  contactEmail: "ann@x",
  contactId: null,
};
const cold: ThreadEvent = {
  type: "ThreadOpened",
  data: { ...opening, openedBy: "send", recipients: ["Ann@customer.example", "bob@customer.example"] },
};
const message = (number: number, different: Partial<InboundMessage> = {}) =>
  inboundMessage(number, { from: { name: "Bob", address: "bob@customer.example" }, ...different });
const file = (number: number, different: Partial<InboundMessage> = {}) =>
  ({ type: "FileMessage", message: message(number, different), opens: null, reviewReason: null }) as const;

describe("a thread that a mail of ours opened", () => {
  it("a thread opened by our mail is opened once, and its recipients are participants", () => {
    given(threadDecider)
      .when({ type: "OpenThread", opened: cold.data as never })
      .then(cold);
    given(threadDecider, cold)
      .when({ type: "OpenThread", opened: cold.data as never })
      .then();
    given(threadDecider, cold).when(file(1)).thenTypes("MessageReceived");
    const stranger = { from: { name: "", address: "eve@x.example" } };
    given(threadDecider, cold).when(file(1, stranger)).thenTypes("MessageReceived", "ThreadReviewSet");
  });

  it("mail of a blocked contact changes no status of a thread, but counts as a customer's mail", () => {
    const waiting: ThreadEvent = { type: "ThreadStatusChanged", data: { status: "waiting", because: "test" } };
    const blocked = file(1, { fromBlockedContact: true });
    given(threadDecider, cold, waiting).when(blocked).thenTypes("MessageReceived");
    given(threadDecider, cold, waiting).when(file(1)).thenTypes("MessageReceived", "ThreadStatusChanged");
    const received: ThreadEvent = { type: "MessageReceived", data: blocked.message };
    given(threadDecider, cold, received).when(claim("draft", "a")).thenRejected("stale_draft");
  });
});

const claimOf = (draftId: string, attemptId: string, machineAddresses?: string[]) => ({
  draftId,
  version: 1,
  contentSha256: "hash",
  attemptId,
  quotaStream: "quota",
  ...(machineAddresses && { machineAddresses }),
});
const claim = (draftId: string, attemptId: string, machines?: string[]) =>
  ({ type: "ClaimSend", claim: claimOf(draftId, attemptId, machines), basedOnNumber: 0, replaces: null }) as const;
const claimed = (draftId: string, attemptId: string, machines?: string[]): ThreadEvent => ({
  type: "SendClaimed",
  data: { ...claimOf(draftId, attemptId, machines), replaces: null },
});
const released = (draftId: string, attemptId: string, because: string): ThreadEvent => ({
  type: "SendClaimReleased",
  data: { draftId, attemptId, because },
});

describe("the loop guard of a thread [d13 loop guard]", () => {
  const robot = ["robot@machine.example"];
  const first = claimed("one", "a", robot);

  it("the loop guard lets one answer to a machine through, also under a later attempt", () => {
    given(threadDecider, cold)
      .when(claim("one", "a", robot))
      .then(first);
    given(threadDecider, cold, first)
      .when(claim("two", "b", robot))
      .thenRejected("loop_guarded");
    given(threadDecider, cold, first)
      .when(claim("two", "b", ["other@x", ...robot]))
      .thenRejected("loop_guarded");
    given(threadDecider, cold, first)
      .when(claim("two", "b", ["other@x"]))
      .thenTypes("SendClaimed");
    given(threadDecider, cold, first).when(claim("two", "b")).thenTypes("SendClaimed");
    given(threadDecider, cold, first)
      .when({ ...claim("one", "b", robot), replaces: "a" })
      .thenTypes("SendClaimed");
  });

  it("the loop guard remembers answers that were or may have been sent, and forgets those that were not", () => {
    const sent: ThreadEvent = {
      type: "MessageSent",
      data: { draftId: "one", attemptId: "a", messageId: "m", rfcMessageId: "<o>", to: robot },
    };
    given(threadDecider, cold, first, sent)
      .when(claim("two", "b", robot))
      .thenRejected("loop_guarded");
    const unconfirmed = released("one", "a", "unconfirmed");
    given(threadDecider, cold, first, unconfirmed)
      .when(claim("two", "b", robot))
      .thenRejected("loop_guarded");
    const failed = released("one", "a", "provider_refused");
    given(threadDecider, cold, first, failed)
      .when(claim("two", "b", robot))
      .thenTypes("SendClaimed");
  });

  it("the loop guard's memory moves to the thread that absorbs a thread", () => {
    const absorbing: ThreadCommand = {
      type: "AbsorbThread",
      absorbedId: "other",
      number: 2,
      newestNumber: 0,
      newestWord: null,
      participants: [],
      drafts: {},
      claims: [],
      needsReview: false,
      unauthenticated: [],
      machineAnswers: { one: robot },
      answers: [],
      part: { n: 1, of: 1 },
    };
    const absorbed = threadDecider.decide(absorbing, fold(threadDecider, [cold]));
    given(threadDecider, cold, ...absorbed)
      .when(claim("two", "b", robot))
      .thenRejected("loop_guarded");
  });
});

describe("an assistant [d8 assistants]", () => {
  const settings = { name: "A", description: null, status: "active" as const };
  const created: AssistantEvent = { type: "AssistantCreated", data: { ...settings, workspaceId: "workspace" } };
  const deleted: AssistantEvent = { type: "AssistantDeleted", data: {} };

  it("an assistant is made once, changed where different, and deleted once", () => {
    const assistant = { ...settings, workspaceId: "workspace" };
    given(assistantDecider).when({ type: "CreateAssistant", assistant }).then(created);
    given(assistantDecider, created).when({ type: "CreateAssistant", assistant }).then();
    given(assistantDecider, created)
      .when({ type: "UpdateAssistant", changes: { name: "A" } })
      .then();
    given(assistantDecider, created)
      .when({ type: "UpdateAssistant", changes: { name: "A", status: "disabled" } })
      .then({ type: "AssistantUpdated", data: { changes: { status: "disabled" } } });
    given(assistantDecider, created).when({ type: "DeleteAssistant" }).then(deleted);
    given(assistantDecider, created, deleted).when({ type: "DeleteAssistant" }).thenRejected("not_found");
    given(assistantDecider).when({ type: "UpdateAssistant", changes: {} }).thenRejected("not_found");
  });
});
