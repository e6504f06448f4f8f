import { expect } from "chai";
import { fold, Rejected } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { ReviewCommand } from "#streams/draft/review.ts";
import type { SendingCommand } from "#streams/draft/sending.ts";
import {
  approved,
  edited,
  failed,
  markedStale,
  queued,
  refreshed,
  rejected,
  requeued,
  sent,
  submitted,
} from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const draft = (...events: DraftEvent[]) => given(draftDecider, ...events);

const approve = (ifVersion: number | null = null, contentSha256: string | null = null): ReviewCommand => ({
  type: "ApproveDraft",
  ifVersion,
  contentSha256,
  sendRequested: false,
  tokenSha256: null,
});
const reject = (ifVersion: number | null = null): ReviewCommand => ({
  type: "RejectDraft",
  reason: null,
  ifVersion,
  tokenSha256: null,
});
const edit = (
  ifVersion: number | null,
  different: Partial<Extract<ReviewCommand, { type: "EditDraft" }>> = {},
): ReviewCommand => {
  const { version: _, ...data } = edited(2).data;
  return { type: "EditDraft", ...data, ifVersion, ...different };
};
const queue = (version: number, different: Partial<ReturnType<typeof queued>["data"]> = {}): SendingCommand => ({
  type: "QueueDraft",
  queued: queued(version, different).data,
});
const byKey = { authorisation: { kind: "api_key", approvedVersion: 1 } } as const;
const abandon: SendingCommand = { type: "AbandonSend", attemptId: "attempt 1", because: "cut off" };
const abandoned: DraftEvent = { type: "SendAbandoned", data: { attemptId: "attempt 1", because: "cut off" } };
const stale = (attemptId: string | null): SendingCommand => ({ type: "MarkStale", newMessageId: "newer", attemptId });
const requeue: SendingCommand = { type: "RequeueDraft", ...requeued.data };
const recordSent = (attemptId: string): SendingCommand => ({ type: "RecordSent", ...sent(attemptId).data });
const fail: SendingCommand = { type: "FailDraft", attemptId: "attempt 1", code: "internal", message: "no" };

const sending = [submitted(), approved(1), queued(1)];

describe("a draft", () => {
  it("a draft is submitted once", () => {
    draft().when({ type: "SubmitDraft", draft: submitted().data }).then(submitted());
    draft(submitted()).when({ type: "SubmitDraft", draft: submitted().data }).then();
    draft().when(approve()).thenRejected("not_found");
  });

  it("only a pending draft is approved, with the version and hash that were shown", () => {
    draft(submitted()).when(approve(1, "hash 1")).then(approved(1));
    draft(submitted(), edited(2)).when(approve(1)).thenRejected("version_mismatch");
    draft(submitted()).when(approve(null, "another hash")).thenRejected("version_mismatch");
    for (const last of [approved(1), rejected(1), markedStale, queued(1), sent(), failed()]) {
      draft(submitted(), last).when(approve()).thenRejected("invalid_status");
    }
  });

  it("a refusal names the draft's present version, hash or status", () => {
    const details = (command: ReviewCommand | SendingCommand, ...events: DraftEvent[]) => {
      const state = fold(draftDecider, [submitted(), ...events]);
      return expect(() => draftDecider.decide(command, state))
        .to.throw(Rejected)
        .with.property("details");
    };
    details(approve(1), edited(2)).that.deep.equals({ version: 2 });
    details(approve(), rejected(1)).that.deep.equals({ status: "rejected" });
    details(queue(1, byKey), edited(2)).that.deep.equals({ version: 2, content_sha256: "hash 2" });
  });

  it("a draft is rejected while pending, approved or stale", () => {
    for (const last of [edited(1), approved(1), markedStale]) draft(submitted(), last).when(reject()).then(rejected(1));
    for (const last of [rejected(1), queued(1), sent(), failed()]) {
      draft(submitted(), last).when(reject()).thenRejected("invalid_status");
    }
    draft(submitted(), edited(2)).when(reject(1)).thenRejected("version_mismatch");
  });

  it("a link or button rejects a draft only while it is pending: the first of two presses decides", () => {
    const press = { ...reject(), tokenSha256: "hash of a token" };
    draft(submitted())
      .when(press)
      .then({ ...rejected(1), data: { ...rejected(1).data, tokenSha256: "hash of a token" } });
    for (const last of [approved(1), markedStale]) draft(submitted(), last).when(press).thenRejected("invalid_status");
  });

  it("an edit records the warnings of the new version, and never those of the version before", () => {
    const first = submitted({ warnings: ["new_recipient"] });
    draft(first)
      .when(edit(1, { warnings: ["forms_differ"] }))
      .then(edited(2, { warnings: ["forms_differ"] }));
    draft(first)
      .when(edit(1, { warnings: [] }))
      .then(edited(2, { warnings: [] }));
    draft(first).when(edit(1)).then(edited(2));
  });

  it("a draft is edited while pending; a change of its identity takes an approval back", () => {
    draft(submitted()).when(edit(1)).then(edited(2));
    draft(submitted())
      .when(edit(1, { changedFields: [] }))
      .then();
    draft(submitted(), edited(2)).when(edit(1)).thenRejected("version_mismatch");
    draft(submitted(), approved(1)).when(edit(1)).thenRejected("invalid_status");
    draft(submitted(), approved(1))
      .when(edit(1, { because: "identity_changed" }))
      .thenTypes("DraftEdited");
    draft(submitted(), approved(1), edited(2)).when(queue(2)).thenRejected("invalid_status");
    draft(...sending)
      .when(edit(1, { because: "identity_changed" }))
      .then();
    draft(submitted())
      .when(edit(1, { because: "identity_changed" }))
      .thenTypes("DraftEdited");
    draft(submitted())
      .when(edit(1, { because: "identity_changed", contentSha256: "hash 1" }))
      .then();
  });

  it("a draft is queued with the version and hash that were claimed and approved", () => {
    draft(submitted(), approved(1)).when(queue(1)).then(queued(1));
    draft(submitted()).when(queue(1, byKey)).then(queued(1, byKey));
    draft(submitted()).when(queue(1)).thenRejected("invalid_status");
    draft(submitted(), edited(2)).when(queue(1, byKey)).thenRejected("content_changed");
    // The same content in a newer version is refused too: an approval holds for one version number.
    draft(submitted(), edited(2, { contentSha256: "hash 1" }))
      .when(queue(1, byKey))
      .thenRejected("content_changed");
    draft(submitted())
      .when(queue(1, { ...byKey, contentSha256: "another" }))
      .thenRejected("content_changed");
    draft(...sending)
      .when(queue(1))
      .then();
    draft(...sending)
      .when(queue(1, { attemptId: "attempt 2" }))
      .thenRejected("invalid_status");
    for (const last of [rejected(1), markedStale, sent(), failed()]) {
      draft(submitted(), last).when(queue(1, byKey)).thenRejected("invalid_status");
    }
  });

  describe("a draft version that the service made", () => {
    const byKeyAt = (version: number) =>
      queue(version, { authorisation: { kind: "api_key", approvedVersion: version } });
    const decidingAt = (version: number) => ({ ...byKeyAt(version), decides: true }) as SendingCommand;

    it("a key does not send a version made by the service after an earlier one was approved, until somebody decides", () => {
      const changed = [submitted(), approved(1), refreshed(2)];
      draft(...changed)
        .when(byKeyAt(2))
        .thenRejected("content_changed");
      draft(...changed)
        .when(decidingAt(2))
        .thenTypes("DraftQueued");
      draft(...changed, approved(2))
        .when(queue(2))
        .thenTypes("DraftQueued");
      draft(...changed, edited(3))
        .when(byKeyAt(3))
        .thenTypes("DraftQueued");
      draft(...changed, edited(3), refreshed(4))
        .when(byKeyAt(4))
        .thenRejected("content_changed");
      draft(...changed, refreshed(3))
        .when(byKeyAt(3))
        .thenRejected("content_changed");
      const auto = submitted({ autoApproved: true });
      draft(auto, refreshed(2)).when(byKeyAt(2)).thenRejected("content_changed");
    });

    it("a refusal because the content changed names the version and hash to decide on", () => {
      const changed = fold(draftDecider, [submitted(), approved(1), refreshed(2)]);
      expect(() => draftDecider.decide(byKeyAt(2), changed))
        .to.throw(Rejected)
        .with.property("details")
        .that.deep.equals({ version: 2, content_sha256: "hash 2" });
    });

    it("a key sends a version made by the service if none was ever approved; an older claim is refused", () => {
      draft(submitted(), refreshed(2)).when(byKeyAt(2)).thenTypes("DraftQueued");
      draft(submitted(), refreshed(2)).when(byKeyAt(1)).thenRejected("send_in_progress");
      draft(submitted(), edited(2), refreshed(3)).when(byKeyAt(1)).thenRejected("content_changed");
      draft(submitted(), approved(1), refreshed(2)).when(byKeyAt(1)).thenRejected("content_changed");
      draft(submitted(), approved(1), refreshed(2)).when(decidingAt(1)).thenRejected("send_in_progress");
    });
  });

  it("a draft refuses an attempt that was abandoned, and does not abandon a queued one", () => {
    draft(submitted()).when(abandon).then(abandoned);
    draft(submitted(), abandoned).when(abandon).then();
    draft(submitted(), abandoned).when(queue(1, byKey)).thenRejected("send_in_progress");
    draft(...sending)
      .when(abandon)
      .then();
  });

  it("no attempt is abandoned once a draft was queued, neither a replaced one nor any other", () => {
    const after: DraftEvent[][] = [[], [requeued], [requeued, failed()], [requeued, sent("attempt 2")], [markedStale]];
    for (const events of after) {
      for (const attemptId of ["attempt 1", "attempt 2", "attempt 3"]) {
        draft(...sending, ...events)
          .when({ type: "AbandonSend", attemptId, because: "late" })
          .then();
      }
    }
  });

  it("a draft is queued again only in place of its present attempt", () => {
    draft(...sending)
      .when(requeue)
      .then(requeued);
    draft(...sending, requeued)
      .when(requeue)
      .then();
    draft(...sending, requeued)
      .when({ ...requeue, attemptId: "attempt 3" } as SendingCommand)
      .thenRejected("send_in_progress");
    for (const last of [sent(), failed(), markedStale])
      draft(...sending, last)
        .when(requeue)
        .thenRejected("invalid_status");
  });

  it("a draft becomes stale, but not by a judgement about another attempt", () => {
    for (const events of [[submitted()], [submitted(), approved(1)]]) {
      for (const attemptId of [null, "attempt 1"])
        draft(...events)
          .when(stale(attemptId))
          .then(markedStale);
    }
    draft(...sending)
      .when(stale("attempt 1"))
      .then(markedStale);
    draft(...sending)
      .when(stale(null))
      .thenRejected("invalid_status");
    draft(...sending, requeued)
      .when(stale("attempt 1"))
      .thenRejected("invalid_status");
    draft(submitted(), markedStale).when(stale(null)).then();
    for (const last of [sent(), failed(), rejected(1)])
      draft(submitted(), last).when(stale(null)).thenRejected("invalid_status");
  });

  it("a draft ends once, by the outcome of its present attempt", () => {
    draft(...sending)
      .when(recordSent("attempt 1"))
      .then(sent());
    draft(...sending, requeued)
      .when(recordSent("attempt 1"))
      .then();
    draft(...sending, sent())
      .when(recordSent("attempt 1"))
      .then();
    draft(...sending)
      .when(fail)
      .then(failed());
    draft(...sending, requeued)
      .when(fail)
      .then();
    for (const last of [sent(), failed(), markedStale])
      draft(...sending, last)
        .when(fail)
        .then();
  });

  it("a failure that names no attempt ends a draft with and without one", () => {
    const failing: SendingCommand = { ...fail, attemptId: null };
    const noAttempt: DraftEvent = { type: "DraftFailed", data: { ...failed().data, attemptId: null } };
    for (const events of [[submitted()], [submitted(), approved(1)], sending]) {
      draft(...events)
        .when(failing)
        .then(noAttempt);
    }
  });

  it("a draft is withdrawn before it is queued, and not after", () => {
    const withdraw: SendingCommand = { type: "WithdrawDraft", code: "internal", message: "no" };
    const withdrawn: DraftEvent = { type: "DraftFailed", data: { ...failed().data, attemptId: null } };
    for (const events of [[submitted()], [submitted(), approved(1)]]) {
      draft(...events)
        .when(withdraw)
        .then(withdrawn);
    }
    for (const last of [queued(1), rejected(1)]) draft(submitted(), last).when(withdraw).then();
  });

  it("a failed draft takes late evidence of its delivery", () => {
    const late: SendingCommand = { type: "RecordLateEvidence", attemptId: "attempt 1", outcome: "accepted" };
    const evidence = (outcome: "accepted" | "refused"): DraftEvent => ({
      type: "LateEvidence",
      data: { attemptId: "attempt 1", outcome },
    });
    const unconfirmed = [...sending, failed("unconfirmed")];
    draft(...unconfirmed)
      .when(late)
      .then(evidence("accepted"));
    draft(...unconfirmed, evidence("accepted"))
      .when(late)
      .then();
    draft(...unconfirmed, evidence("refused"))
      .when(late)
      .then(evidence("accepted"));
    draft(...unconfirmed)
      .when({ ...late, attemptId: "attempt 2" })
      .then();
    draft(...sending)
      .when(late)
      .then();
  });

  it("a held draft goes from approved back to pending", () => {
    const hold: SendingCommand = { type: "HoldSend", code: "sending_paused", message: "paused" };
    const held: DraftEvent = { type: "SendHeld", data: { code: "sending_paused", message: "paused" } };
    draft(submitted(), approved(1)).when(hold).then(held);
    draft(submitted(), approved(1), held).when(hold).then();
    draft(submitted()).when(hold).then();
    draft(submitted(), approved(1))
      .when({ type: "ReturnToPending", because: "rules" })
      .thenTypes("DraftReturnedToPending");
    draft(submitted()).when({ type: "ReturnToPending", because: "rules" }).then();
  });

  it("approvers are asked again once for each answer that the message got after the approval", () => {
    const ask = (...answeredBy: string[]): ReviewCommand => ({ type: "AskAgain", version: 1, answeredBy });
    const returned = (...answeredBy: string[]): DraftEvent => ({
      type: "DraftReturnedToPending",
      data: { because: "answered_meanwhile", answeredBy },
    });
    draft(submitted(), approved(1)).when(ask("one")).then(returned("one"));
    draft(submitted()).when(ask("one")).then();
    draft(submitted(), approved(1), returned("one"), approved(1)).when(ask("one")).then();
    draft(submitted(), approved(1), returned("one"), approved(1)).when(ask("one", "two")).then(returned("two"));
  });

  it("a draft records once that its rules have run; they take back only an automatic approval", () => {
    const apply = (mode: "auto" | "manual" | null): ReviewCommand => ({ type: "ApplyRules", mode, because: "rule" });
    const giveUp: ReviewCommand = { type: "GiveUpOnRules", because: "late" };
    const applied = (mode: "auto" | "manual" | null): DraftEvent => ({ type: "DraftRulesApplied", data: { mode } });
    const returned = (because: string): DraftEvent => ({ type: "DraftReturnedToPending", data: { because } });
    const auto = submitted({ autoApproved: true });
    draft(auto).when(apply(null)).then(applied(null));
    draft(auto).when(apply("manual")).then(returned("rule"), applied("manual"));
    draft(auto, applied(null)).when(apply("manual")).then();
    draft(auto, returned("late")).when(apply("manual")).then(applied("manual"));
    draft(submitted(), approved(1)).when(apply("manual")).then(applied("manual"));
    draft(auto, returned("x"), approved(1)).when(apply("manual")).then(applied("manual"));
    draft(auto, queued(1)).when(apply("manual")).then(applied("manual"));
    draft(auto).when(giveUp).then(returned("late"));
    const begun: DraftEvent = { type: "DraftRulesBegun", data: {} };
    draft(auto).when({ type: "BeginRules" }).then(begun);
    for (const events of [[auto, begun], [auto, applied(null)], [submitted()], [auto, queued(1)]]) {
      draft(...events)
        .when({ type: "BeginRules" })
        .then();
    }
    for (const events of [[auto, applied("auto")], [submitted(), approved(1)], [auto, queued(1)], [submitted()]]) {
      draft(...events)
        .when(giveUp)
        .then();
    }
  });

  it("requests to notify approvers again are throttled", () => {
    const ask = (at: string) => ({ type: "RequestNotify", at, throttleSeconds: 60 }) as const;
    const asked: DraftEvent = { type: "NotifyRequested", data: { at: "2026-01-01T00:00:00Z" } };
    draft(submitted()).when(ask("2026-01-01T00:00:00Z")).then(asked);
    draft(submitted(), asked).when(ask("2026-01-01T00:00:59Z")).thenRejected("rate_limited");
    const early = fold(draftDecider, [submitted(), asked]);
    expect(() => draftDecider.decide(ask("2026-01-01T00:00:58.500Z"), early))
      .to.throw(Rejected)
      .with.property("details")
      .that.deep.equals({ retryAfter: 2 });
    draft(submitted(), asked).when(ask("2026-01-01T00:01:00Z")).thenTypes("NotifyRequested");
    draft(submitted(), approved(1)).when(ask("2026-01-01T00:00:00Z")).thenRejected("invalid_status");
  });
});
