import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import {
  approved,
  edited,
  failed,
  markedStale,
  queued,
  rejected,
  requeued,
  sent,
  submitted,
} from "#test/support/examples/drafts.ts";

const folded = (...events: DraftEvent[]) => fold(draftDecider, events);
const held = (code: string): DraftEvent => ({ type: "SendHeld", data: { code, message: "x" } });
const returned: DraftEvent = { type: "DraftReturnedToPending", data: { because: "x" } };

const unapproved = { approval: null, sendRequested: false, held: null };
const unsent = { attemptId: null, tries: 0, reservation: null };
const unfailed = { failureCode: null, lateEvidence: null };
const { attemptId, quotaStream, reservationId } = queued(1).data;
const underWay = { attemptId, tries: 0, reservation: { quotaStream, reservationId } };

/** By a key, which does not mean to send. */
const approvedByKey = approved(1, { sendRequested: false, tokenSha256: null });

describe("a draft's state", () => {
  it("has, while it is pending, no approval and no send", () => {
    for (const events of [
      [submitted()],
      [submitted(), approvedByKey, returned],
      [submitted(), approvedByKey, edited(2)],
    ]) {
      expect(folded(...events)).to.deep.include({ status: "pending", ...unapproved, ...unsent, ...unfailed });
    }
  });

  it("has, once approved, whose word that is, and whether it means to send", () => {
    expect(folded(submitted(), approvedByKey)).to.deep.include({
      ...{ status: "approved", approval: { by: "key" }, sendRequested: false, held: null },
      ...unsent,
      ...unfailed,
    });
    const byPerson = approved(1, { sendRequested: true, tokenSha256: "token" });
    expect(folded(submitted(), byPerson)).to.deep.include({ approval: { by: "person" }, sendRequested: true });
    expect(folded(submitted({ autoApproved: true }))).to.deep.include({
      ...{ status: "approved", approval: { by: "switch" }, sendRequested: true, autoApproved: true },
    });
  });

  it("keeps the wish to send over a pause, and no wish that nobody had after another obstacle", () => {
    const byPerson = approved(1, { sendRequested: true, tokenSha256: "token" });
    expect(folded(submitted(), byPerson, held("sending_paused"))).to.include({
      held: "sending_paused",
      sendRequested: true,
    });
    expect(folded(submitted(), byPerson, held("plan_limit_reached"))).to.include({ sendRequested: false });
    expect(folded(submitted(), byPerson, held("identity_not_active"))).to.include({ sendRequested: false });
    const auto = submitted({ autoApproved: true });
    expect(folded(auto, held("identity_not_active"))).to.include({ held: "identity_not_active", sendRequested: true });
    expect(folded(submitted(), held("sending_paused")), "of what is not approved").to.include({ held: null });
  });

  it("has, once queued, its attempt and what it reserved, and keeps them to its end, to be given back", () => {
    const sending = [submitted(), approvedByKey, queued(1)];
    expect(folded(...sending)).to.deep.include({ status: "sending", sendRequested: false, ...underWay, ...unfailed });
    const again = { attemptId: requeued.data.attemptId, tries: requeued.data.tries };
    expect(folded(...sending, requeued)).to.deep.include({ ...underWay, ...again });
    expect(folded(...sending, markedStale)).to.deep.include({ status: "stale", ...underWay, ...unfailed });
    expect(folded(...sending, markedStale, rejected(1))).to.deep.include({ status: "rejected", ...underWay });
    expect(folded(...sending, sent())).to.deep.include({ status: "sent", ...underWay, ...unfailed });
    expect(folded(...sending, failed("unconfirmed"))).to.deep.include({
      ...{ status: "failed", failureCode: "unconfirmed", lateEvidence: null },
      ...underWay,
    });
  });

  it("has, where it ended before any send, nothing to give back", () => {
    for (const last of [markedStale, rejected(1), failed()]) {
      expect(folded(submitted(), last), last.type).to.deep.include(unsent);
    }
  });

  it("knows what a failed send came to after all", () => {
    const evidence: DraftEvent = { type: "LateEvidence", data: { attemptId, outcome: "accepted" } };
    const draft = folded(submitted(), approvedByKey, queued(1), failed("unconfirmed"), evidence);
    expect(draft).to.include({ status: "failed", failureCode: "unconfirmed", lateEvidence: "accepted" });
  });
});
