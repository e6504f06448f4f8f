import { expect } from "chai";
import {
  type DraftFacts,
  type NewestMessage,
  type Unanswered,
  type UnansweredReason,
  whyUnanswered,
} from "#src/http/console/threads/whyUnanswered.ts";

const word: NewestMessage = {
  messageId: "m2",
  at: "2026-11-20T10:00:00.000Z",
  kind: "customer",
  isBounce: false,
  isHandedOver: false,
  fromBlockedContact: false,
  held: null,
};

const draft: DraftFacts = {
  id: "d1",
  status: "pending",
  based_on_message_id: "m2",
  newer_message_id: null,
  reason: null,
  decided_by: null,
  decided_at: null,
  approvals: { required: 1, given: [] },
  held_code: null,
  undo_until: null,
  failure_message: null,
  notification_status: { state: "sent", error: null },
  created_at: "2026-11-20T10:01:00.000Z",
  updated_at: "2026-11-20T10:02:00.000Z",
};

const facts: Unanswered = {
  identityId: "i1",
  identityStatus: "active",
  newestWord: word,
  answeredAt: null,
  drafts: [],
};

const said = (why: UnansweredReason | undefined): string | undefined =>
  why?.sentence.map((part) => (typeof part === "string" ? part : `<${part.at.slice(11, 16)}>`)).join("");

const withDraft = (change: Partial<DraftFacts>) => whyUnanswered({ ...facts, drafts: [{ ...draft, ...change }] });

describe("the reason why a conversation was not answered", () => {
  it("a conversation has no reason if nobody wrote, or if it was answered since", () => {
    expect(whyUnanswered({ ...facts, newestWord: null })).to.equal(undefined);
    expect(whyUnanswered({ ...facts, answeredAt: "2026-11-20T10:05:00.000Z" })).to.equal(undefined);
  });

  it("a conversation whose customer writes again after the answer has a reason again", () => {
    const why = whyUnanswered({
      ...facts,
      answeredAt: "2026-11-20T09:00:00.000Z",
      drafts: [{ ...draft, status: "sent", created_at: "2026-11-20T08:00:00.000Z" }],
    });
    expect(said(why)).to.equal("No draft has been written since this message.");
    expect(why?.link).to.deep.equal({ href: "#reply", label: "Write a reply" });
  });

  it("drafts that are older than the last answer do not count as a reason", () => {
    const rejected = { ...draft, status: "rejected" as const, created_at: "2026-11-20T08:00:00.000Z" };
    const why = whyUnanswered({ ...facts, answeredAt: "2026-11-20T09:00:00.000Z", drafts: [rejected] });
    expect(said(why)).to.equal("No draft has been written since this message.");
  });

  it("a waiting draft is the reason, with its time and a link to it", () => {
    const why = withDraft({});
    expect(said(why)).to.equal("A draft has been waiting for a decision since <10:01>.");
    expect(why?.link?.href).to.equal("/drafts/d1");
  });

  it("a waiting draft's reason counts the approvals, and says that the approver could not be reached", () => {
    const why = withDraft({
      approvals: { required: 2, given: [{}] },
      notification_status: { state: "failed", error: "chat not found" },
    });
    expect(said(why)).to.equal(
      "A draft has been waiting for a decision since <10:01>. 1 of 2 approvals have been given. The approver could not be reached: “chat not found”.",
    );
  });

  it("a waiting or approved draft's reason says that the draft answers an older message", () => {
    for (const status of ["pending", "approved"] as const) {
      const why = withDraft({ status, based_on_message_id: "m1", newer_message_id: "m2" });
      expect(said(why)).to.contain("answers an older message, so it cannot be sent");
    }
  });

  it("a rejected draft's reason names who rejected it, and why", () => {
    const why = withDraft({
      status: "rejected",
      decided_by: { kind: "session", name: "Ben" },
      decided_at: "2026-11-20T10:30:00.000Z",
      reason: 'Too "rude”',
    });
    expect(said(why)).to.equal("“Ben” rejected the draft <10:30>: “Too 'rude'”. No other draft has been written.");
    expect(said(withDraft({ status: "rejected" }))).to.equal(
      "An approver rejected the draft <10:02>, without a reason. No other draft has been written.",
    );
  });

  it("a stale draft's reason says that it became stale", () => {
    expect(said(withDraft({ status: "stale", based_on_message_id: "m1" }))).to.match(
      /^A draft became stale <10:02> because a newer/,
    );
  });

  it("a failed draft's reason says why sending failed", () => {
    expect(said(withDraft({ status: "failed", failure_message: "550 no such user" }))).to.contain(
      "“550 no such user” (<10:02>)",
    );
  });

  it("an approved draft's reason says what holds the draft", () => {
    const approved = { status: "approved" as const, decided_at: "2026-11-20T10:30:00.000Z" };
    expect(said(withDraft({ ...approved, held_code: "sending_paused" }))).to.contain("sending is paused");
    expect(said(withDraft({ ...approved, held_code: "plan_limit_reached" }))).to.contain("the plan's quota");
    expect(said(withDraft({ ...approved, held_code: "something_new" }))).to.contain("refused (something_new)");
    expect(said(withDraft({ ...approved, undo_until: "2026-11-20T10:30:10.000Z" }))).to.contain(
      "It will be sent within seconds.",
    );
    expect(said(withDraft(approved))).to.equal("A draft was approved <10:30>. It has not been sent yet.");
  });

  it("a draft that is being sent has the reason that a reply is on its way", () => {
    expect(said(withDraft({ status: "sending" }))).to.equal("A reply is on its way since <10:02>.");
  });

  it("an automatic mail or a blocked sender is the reason, unless there is a draft all the same", () => {
    const of = (change: Partial<NewestMessage>, drafts: DraftFacts[] = []) =>
      said(whyUnanswered({ ...facts, newestWord: { ...word, ...change }, drafts }));
    expect(of({ kind: "automatic_reply" })).to.contain("is an automatic reply");
    expect(of({ kind: "report", isBounce: true })).to.contain("could not be delivered");
    expect(of({ kind: "report" })).to.contain("such as a delay or a receipt");
    expect(of({ kind: "colleague" })).to.contain("from a colleague, another address of this workspace");
    expect(of({ kind: "colleague", isHandedOver: true })).to.contain("A colleague handed this conversation over.");
    for (const kind of ["customer", "program", "altered_copy", "filed_by_hand"] as const)
      expect(of({ kind }), kind).to.equal("No draft has been written since this message.");
    expect(of({ kind: "colleague" }, [draft])).to.contain("waiting for a decision");
    expect(of({ fromBlockedContact: true })).to.contain("sender is blocked");
    expect(of({ fromBlockedContact: true }, [draft])).to.contain("waiting for a decision");
  });

  it("held mail is the reason before any other", () => {
    const of = (because: "quota" | "identity_disabled" | "unknown") =>
      whyUnanswered({ ...facts, newestWord: { ...word, held: { because } }, drafts: [draft] });
    expect(said(of("quota"))).to.contain("plan's quota of incoming mail");
    expect(of("quota")?.link?.href).to.equal("/billing");
    expect(of("identity_disabled")?.link?.href).to.equal("/identities/i1");
    expect(said(of("unknown"))).to.equal("The newest message is held. Nothing is sent until it is released.");
  });

  it("a disabled or deleted identity is the reason", () => {
    expect(said(whyUnanswered({ ...facts, identityStatus: "disabled" }))).to.contain("identity is disabled");
    expect(said(whyUnanswered({ ...facts, identityStatus: "deleted" }))).to.contain("was deleted");
  });
});
