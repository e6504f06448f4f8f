import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { type ThreadCommand, threadDecider } from "#streams/thread/decider.ts";
import type { InboundMessage, ThreadEvent } from "#streams/thread/events.ts";
import { inboundMessage } from "#test/support/examples/index.ts";
import { given } from "#test/support/given.ts";

const thread = (...events: ThreadEvent[]) => given(threadDecider, ...events);

const opening = { workspaceId: "workspace", identityId: "identity", subject: "s", contactEmail: null, contactId: null };
const opened: ThreadEvent = { type: "ThreadOpened", data: opening };
const received = (number: number, different: Partial<InboundMessage> = {}): ThreadEvent => ({
  type: "MessageReceived",
  data: inboundMessage(number, different),
});
const file = (number: number, different: Partial<InboundMessage> = {}): ThreadCommand => ({
  type: "FileMessage",
  message: inboundMessage(number, different),
  opens: opening,
  reviewReason: null,
});
const claimOf = (attemptId: string) => ({
  draftId: "draft",
  version: 1,
  contentSha256: "hash",
  attemptId,
  quotaStream: "quota-w-lifetime",
});
const claim = (attemptId: string, basedOnNumber: number, replaces: string | null = null): ThreadCommand => ({
  type: "ClaimSend",
  claim: claimOf(attemptId),
  basedOnNumber,
  replaces,
});
const claimed = (attemptId: string, replaces: string | null = null): ThreadEvent => ({
  type: "SendClaimed",
  data: { ...claimOf(attemptId), replaces },
});
const noted = (
  status: "pending" | "approved" | "sending" | "closed",
  revision: number,
  draftId = "draft",
): ThreadEvent => ({
  type: "DraftNoted",
  data: { draftId, status, revision },
});
const status = (now: "open" | "waiting" | "draft_pending" | "closed"): ThreadEvent => ({
  type: "ThreadStatusChanged",
  data: { status: now, because: "test" },
});
const mailSent = {
  draftId: "draft",
  attemptId: "a1",
  messageId: "answer",
  rfcMessageId: "<o>",
  to: ["ann@customer.example"],
};
const base = [opened, received(3)];

describe("a thread", () => {
  it("takes mail once, in the order of filing numbers", () => {
    thread().when(file(1)).then(opened, received(1));
    thread(...base)
      .when(file(4))
      .then(received(4));
    thread(...base)
      .when(file(3))
      .then();
    thread(...base)
      .when(file(2))
      .then();
    thread().when(claim("a1", 0)).thenRejected("not_found");
  });

  it("opens again when the customer writes, asks for review when closed or by a stranger [3 needs_review]", () => {
    thread(...base, status("waiting"))
      .when(file(4))
      .thenTypes("MessageReceived", "ThreadStatusChanged");
    thread(...base, status("waiting"))
      .when(file(4, { classification: "bounce" }))
      .thenTypes("MessageReceived");
    thread(...base, status("closed"))
      .when(file(4))
      .thenTypes("MessageReceived", "ThreadReviewSet");
    thread(...base)
      .when(file(4, { from: { name: "", address: "eve@x.example" } }))
      .thenTypes("MessageReceived", "ThreadReviewSet");
  });

  it("refuses a claim on what is older than the newest word", () => {
    thread(...base)
      .when(claim("a1", 3))
      .then(claimed("a1"));
    thread(...base, received(4))
      .when(claim("a1", 3))
      .thenRejected("stale_draft");
    thread(...base)
      .when(claim("a1", 0))
      .thenRejected("stale_draft");
    for (const classification of ["auto_reply", "bounce"] as const) {
      thread(...base, received(4, { classification }))
        .when(claim("a1", 3))
        .then(claimed("a1"));
    }
    thread(...base, received(4, { classification: "list" }))
      .when(claim("a1", 3))
      .thenRejected("stale_draft");
  });

  it("gives one claim a draft, and replaces only the one that is named", () => {
    thread(...base, claimed("a1"))
      .when(claim("a1", 3))
      .then();
    thread(...base, claimed("a1"))
      .when(claim("a2", 3))
      .thenRejected("send_in_progress");
    thread(...base, claimed("a1"))
      .when(claim("a2", 3, "a1"))
      .then(claimed("a2", "a1"));
    thread(...base, claimed("a2", "a1"))
      .when(claim("a3", 3, "a1"))
      .thenRejected("send_in_progress");
    thread(...base, { type: "MessageSent", data: mailSent })
      .when(claim("a2", 3))
      .thenRejected("send_in_progress");
  });

  it("releases the claim that is named, once", () => {
    const release: ThreadCommand = { type: "ReleaseClaim", draftId: "draft", attemptId: "a1", because: "stale" };
    thread(...base, claimed("a1"))
      .when(release)
      .thenTypes("SendClaimReleased");
    thread(...base)
      .when(release)
      .then();
    thread(...base, claimed("a2", "a1"))
      .when(release)
      .then();
  });

  it("waits after a reply, told once [3 thread -> waiting]", () => {
    const tell: ThreadCommand = { type: "RecordSent", ...mailSent };
    thread(...base, claimed("a1"))
      .when(tell)
      .thenTypes("MessageSent", "ThreadStatusChanged");
    thread(...base, { type: "MessageSent", data: mailSent })
      .when(tell)
      .then();
    expect(fold(threadDecider, [...base, claimed("a1"), { type: "MessageSent", data: mailSent }]).claims).to.deep.equal(
      {},
    );
  });

  it("follows its drafts, newest note first", () => {
    const note = (outcome: "pending" | "stale" | "sending" | "rejected", draftRevision: number): ThreadCommand => ({
      type: "NoteDraft",
      draftId: "draft",
      outcome,
      draftRevision,
    });
    thread(...base)
      .when(note("pending", 0))
      .thenTypes("DraftNoted", "ThreadStatusChanged");
    thread(...base, noted("pending", 0))
      .when(note("pending", 0))
      .then();
    thread(...base, noted("sending", 2))
      .when(note("pending", 1))
      .then();
    thread(...base, status("draft_pending"), noted("pending", 0))
      .when(note("stale", 1))
      .thenTypes("DraftNoted", "ThreadStatusChanged");
    thread(...base, status("draft_pending"), noted("pending", 0, "other"))
      .when(note("stale", 1))
      .thenTypes("DraftNoted");
    thread(...base, status("waiting"), noted("sending", 0, "other"))
      .when(note("stale", 1))
      .thenTypes("DraftNoted");
  });

  it("only points on once it is frozen, and takes what was filed before for done", () => {
    const freeze: ThreadCommand = { type: "FreezeThread", survivorId: "survivor", number: 5 };
    const frozen: ThreadEvent = { type: "ThreadFrozen", data: { survivorId: "survivor", number: 5 } };
    thread(...base)
      .when(freeze)
      .then(frozen);
    thread(...base, frozen)
      .when(freeze)
      .then();
    thread(...base, frozen)
      .when(file(4))
      .then();
    thread(...base, frozen)
      .when(claim("a1", 3))
      .thenRejected("thread_merged");
    thread(...base, frozen)
      .when({ type: "UpdateThread", status: "closed", because: "test" })
      .thenRejected("thread_merged");
  });

  it("absorbs another thread's word, drafts and claims, once", () => {
    const other = {
      absorbedId: "b",
      number: 5,
      newestNumber: 4,
      newestWord: { messageId: "message 4", number: 4 },
      participants: ["bob@x.example"],
      drafts: { other: { status: "pending" as const, revision: 1 } },
      claims: [claimOf("a1")],
      needsReview: true,
      unauthenticated: [4],
    };
    const absorb: ThreadCommand = { type: "AbsorbThread", ...other };
    thread(...base)
      .when(absorb)
      .thenTypes("ThreadAbsorbed", "ThreadReviewSet", "ThreadStatusChanged");
    const absorbed: ThreadEvent = { type: "ThreadAbsorbed", data: other };
    thread(...base, absorbed)
      .when(absorb)
      .then();
    thread(...base, absorbed)
      .when(claim("a2", 3, "a1"))
      .thenRejected("stale_draft");
    thread(...base, absorbed)
      .when(claim("a2", 4))
      .thenRejected("send_in_progress");
  });

  it("is told once what each mail proves, and asks for review where a joining one proves nothing [d5 authentication]", () => {
    const authentication = (aligned: boolean) =>
      ({ spf: "none", dkim: "none", dmarc: aligned ? "pass" : "fail", aligned }) as const;
    const said = (number: number, aligned: boolean, classification: "person" | "bounce" | "list" = "person") => ({
      messageId: `message ${number}`,
      number,
      identityId: "identity",
      classification,
      fromEmail: "ann@customer.example",
      subject: "s",
      contactId: null,
      contactStatus: "unknown" as const,
      authentication: authentication(aligned),
    });
    const authenticate = (...of: Parameters<typeof said>): ThreadCommand => ({
      type: "AuthenticateMessage",
      message: said(...of),
    });
    const authenticated = (...of: Parameters<typeof said>): ThreadEvent => ({
      type: "MessageAuthenticated",
      data: said(...of),
    });
    thread(...base)
      .when(authenticate(3, false))
      .then(authenticated(3, false));
    thread(...base, authenticated(3, false))
      .when(authenticate(3, true))
      .then();
    thread(...base)
      .when(authenticate(7, true))
      .then();
    const joined = [...base, received(4)];
    thread(...joined)
      .when(authenticate(4, true))
      .then(authenticated(4, true));
    thread(...joined)
      .when(authenticate(4, false))
      .thenTypes("MessageAuthenticated", "ThreadReviewSet");
    thread(...joined)
      .when(authenticate(4, false, "list"))
      .thenTypes("MessageAuthenticated", "ThreadReviewSet");
    thread(...joined)
      .when(authenticate(4, false, "bounce"))
      .thenTypes("MessageAuthenticated");
    thread(...joined, { type: "ThreadReviewSet", data: { needsReview: true, reason: "x" } })
      .when(authenticate(4, false))
      .thenTypes("MessageAuthenticated");
    // Later mail may be done with first; what was opened by us is joined by every mail.
    thread(...joined, authenticated(4, true))
      .when(authenticate(3, true))
      .thenTypes("MessageAuthenticated");
    thread(opened, { type: "MessageSent", data: mailSent }, received(1))
      .when(authenticate(1, false))
      .thenTypes("MessageAuthenticated", "ThreadReviewSet");
    const frozen: ThreadEvent = { type: "ThreadFrozen", data: { survivorId: "a", number: 5 } };
    thread(...joined, frozen)
      .when(authenticate(4, true))
      .thenRejected("thread_merged");
  });

  it("changes only what is different", () => {
    thread(...base)
      .when({ type: "UpdateThread", status: "open", needsReview: false, priority: "normal", because: "t" })
      .then();
    thread(...base)
      .when({ type: "UpdateThread", status: "closed", needsReview: true, priority: "high", because: "t" })
      .thenTypes("ThreadStatusChanged", "ThreadReviewSet", "ThreadPrioritySet");
  });
});
