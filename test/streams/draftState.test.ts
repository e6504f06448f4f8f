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
  it("a pending draft has no approval and no send", () => {
    for (const events of [
      [submitted()],
      [submitted(), approvedByKey, returned],
      [submitted(), approvedByKey, edited(2)],
    ]) {
      expect(folded(...events)).to.deep.include({ status: "pending", ...unapproved, ...unsent, ...unfailed });
    }
  });

  it("an approved draft knows who approved it, and whether it is to be sent", () => {
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

  it("a wish to send survives a pause, and no other obstacle creates one", () => {
    const byPerson = approved(1, { sendRequested: true, tokenSha256: "token" });
    expect(folded(submitted(), byPerson, held("sending_paused"))).to.include({
      held: "sending_paused",
      sendRequested: true,
    });
    expect(folded(submitted(), byPerson, held("plan_limit_reached"))).to.include({ sendRequested: false });
    expect(folded(submitted(), byPerson, held("identity_not_active"))).to.include({ sendRequested: false });
    const unsent = approved(1, { sendRequested: false, grantedBy: { runId: "run", ruleId: "rule" } });
    expect(folded(submitted(), unsent, held("identity_not_active"))).to.include({ sendRequested: false });
    const auto = submitted({ autoApproved: true });
    expect(folded(auto, held("plan_limit_reached"))).to.include({ sendRequested: false });
    expect(folded(auto, held("identity_not_active"))).to.include({ held: "identity_not_active", sendRequested: true });
    expect(folded(submitted(), held("sending_paused")), "of what is not approved").to.include({ held: null });
  });

  it("a queued draft keeps its attempt and what it reserved to the end, to be given back", () => {
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

  it("a draft that ended before any send has nothing to give back", () => {
    for (const last of [markedStale, rejected(1), failed()]) {
      expect(folded(submitted(), last), last.type).to.deep.include(unsent);
    }
  });

  it("a draft that has ended does not mean to send any more", () => {
    const wanted = [submitted(), approved(1, { sendRequested: true, tokenSha256: "token" })];
    for (const last of [markedStale, rejected(1), failed(), sent()])
      expect(folded(...wanted, last).sendRequested, last.type).to.equal(false);
  });

  it("a draft has the facts of its submission and the content of its newest version", () => {
    const blob = { content: null, contentBlob: "blob" };
    const made = { htmlRemoved: [], textDerived: true, pictures: [{ contentId: null, sha256: "picture" }] } as const;
    const facts = { workspaceId: "workspace", threadId: "thread", identityId: "identity", basedOnNumber: 1 };
    const place = { threadId: "thread", revision: 3 };
    const { content } = submitted().data;
    const answers = { threadId: "thread", revision: 1 };
    const plain = { ...facts, basedOnMessageId: "message", answers, machineAddresses: [], making: { htmlRemoved: [] } };
    expect(folded(submitted())).to.deep.include({ ...plain, stored: { content, contentBlob: null } });
    const whole = { ...blob, ...made, answers: place, machineAddresses: ["robot@machine.example"] };
    expect(folded(submitted(whole as object))).to.deep.include({
      ...{ ...facts, stored: blob, making: made, answers: place, machineAddresses: whole.machineAddresses },
    });
    const second = folded(submitted({ autoApproved: true }), edited(2, { ...blob, ...(made as object) }));
    expect(second).to.deep.include({ stored: blob, making: made, autoApproved: false, approvedVersion: 1 });
  });

  it("an approval counts for the newest version alone, and only while that is pending", () => {
    const gave: DraftEvent = {
      type: "ApprovalGiven",
      data: { ...approved(1).data, sendRequested: true, voter: "ann", required: 2 },
    };
    const votes = (...events: DraftEvent[]) => folded(submitted(), ...events).votes.map(({ voter }) => voter);
    expect(votes(gave)).to.deep.equal(["ann"]);
    expect(votes(edited(2), gave)).to.deep.equal([]);
    expect(votes(approvedByKey, gave)).to.deep.equal([]);
    expect(votes(gave, approvedByKey), "after an approval that is enough by itself").to.deep.equal([]);
    expect(votes(gave, returned), "after it was returned by the service").to.deep.equal([]);
  });

  it("an event that belongs to another status changes nothing", () => {
    const pending = folded(submitted());
    expect(folded(submitted(), requeued)).to.deep.equal(pending);
    const late: DraftEvent = { type: "LateEvidence", data: { attemptId, outcome: "accepted" } };
    expect(folded(submitted(), late)).to.deep.equal(pending);
    const taken = folded(submitted({ autoApproved: true }), returned);
    expect(taken).to.include({ autoApproved: false, status: "pending" });
  });

  it("a failed draft knows what late evidence says about its send", () => {
    const evidence: DraftEvent = { type: "LateEvidence", data: { attemptId, outcome: "accepted" } };
    const draft = folded(submitted(), approvedByKey, queued(1), failed("unconfirmed"), evidence);
    expect(draft).to.include({ status: "failed", failureCode: "unconfirmed", lateEvidence: "accepted" });
  });
});
