import { expect } from "chai";
import { fold, Rejected } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { EditDraft } from "#streams/draft/edits.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Voting } from "#streams/draft/quorum.ts";
import type { AuthorApproval, ReviewCommand } from "#streams/draft/review.ts";
import { approved, edited, queued, rejected, sent, submitted } from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const sendAfter = "2026-01-01T12:00:10.000Z";
const draft = (...events: DraftEvent[]) => given(draftDecider, submitted(), ...events);

const voting = (voter: string, different: Partial<Voting> = {}): Voting => ({
  ...{ voter, place: null, required: 1, keysCount: false },
  ...different,
});
const word = (voter: string, different: Partial<Voting> = {}, sendRequested = true): AuthorApproval => ({
  ...{ voting: voting(voter, different), undoWindow: { sendAfter }, sendRequested },
});
const approve = (by: AuthorApproval, ifVersion = 1) =>
  ({ type: "ApproveDraft", ifVersion, contentSha256: null, tokenSha256: null, ...by }) satisfies ReviewCommand;
const byLink = (voter: string, different: Partial<Voting> = {}): ReviewCommand => ({
  ...{ type: "ApproveDraft", ifVersion: 1, contentSha256: null, tokenSha256: "token", sendRequested: true },
  voting: voting(voter, { required: 2, ...different }),
});
const gave = (
  voter: string,
  different: Partial<Extract<DraftEvent, { type: "ApprovalGiven" }>["data"]> = {},
): DraftEvent => ({
  type: "ApprovalGiven",
  data: {
    ...{ version: 1, contentSha256: "hash 1", tokenSha256: null, sendRequested: true, voter, required: 2 },
    ...different,
  },
});
const bySession = (voter: string, version = 1) =>
  approved(version, { sendRequested: true, approver: voter, sendAfter });
const undo = (voter: string, also: string[] = []): ReviewCommand => ({
  ...{ type: "UndoApproval", voter, also, because: `${voter} undid the approval` },
});
const back = (withdrawn: string): DraftEvent => ({
  type: "DraftReturnedToPending",
  data: { because: `${withdrawn} undid the approval`, withdrawn },
});
const edit = (ifVersion: number, different: Partial<EditDraft> = {}): EditDraft => {
  const { version: _, ...data } = edited(ifVersion + 1).data;
  return { type: "EditDraft", ...data, because: "edit", ifVersion, ...different };
};
const editAndApprove = (by: AuthorApproval, ifVersion = 1, different: Partial<EditDraft> = {}): ReviewCommand => ({
  ...{ type: "EditAndApprove", edit: edit(ifVersion, different), authorApproval: by },
});

describe("a signed-in person's approval", () => {
  it("a signed-in person's approval names them, and the time before which nothing is sent", () => {
    draft()
      .when(approve(word("ann")))
      .then(bySession("ann"));
    const state = fold(draftDecider, [submitted(), bySession("ann")]);
    expect(state).to.deep.include({
      approval: { by: "person" },
      approver: { voter: "ann", sendAfter, tokenSha256: null },
    });
    // An approval that does not send sets no time to undo.
    draft()
      .when(approve(word("ann", {}, false)))
      .then(approved(1, { approver: "ann" }));
  });

  it("a signed-in person approves only the version that was shown", () => {
    draft(edited(2))
      .when(approve(word("ann"), 1))
      .thenRejected("version_mismatch");
    draft(edited(2))
      .when(approve(word("ann"), 3))
      .thenRejected("version_mismatch");
  });

  it("a signed-in person's approval is given once, however often the form is posted", () => {
    draft(bySession("ann"))
      .when(approve(word("ann")))
      .then();
    draft(bySession("ann"))
      .when(approve(word("bob")))
      .thenRejected("invalid_status");
    draft(rejected(1))
      .when(approve(word("ann")))
      .thenRejected("invalid_status");
    // The approval is theirs, but the form is not the same: it shows another version, or the draft is on its way.
    draft(bySession("ann"))
      .when(approve(word("ann"), 2))
      .thenRejected("invalid_status");
    draft(bySession("ann"), queued(1))
      .when(approve(word("ann")))
      .thenRejected("invalid_status");
    draft(approved(1))
      .when(approve(word("ann")))
      .thenRejected("invalid_status");
  });

  it("a person's link, session and address together count as one approval", () => {
    const two = { required: 2 };
    const named = { ...two, also: ["mailbox:ann"] };
    const annsVote = gave("session:ann", { also: ["mailbox:ann"] });
    draft()
      .when(approve(word("session:ann", named)))
      .then(annsVote);
    // By the link in the mail, signed in under another address, and the other way round.
    draft(annsVote).when(byLink("mailbox:ann")).then();
    draft(annsVote)
      .when(approve(word("session:ann", { ...two, also: ["mailbox:new"] })))
      .then();
    draft(annsVote)
      .when(byLink("mailbox:new", { also: ["session:ann"] }))
      .then();
    draft(gave("mailbox:ann"))
      .when(approve(word("session:ann", named)))
      .then();
    draft(annsVote).when(byLink("mailbox:bob")).thenTypes("ApprovalGiven", "DraftApproved");
  });

  it("a signed-in person's approval that completes a quorum delays the send", () => {
    const quorum = { required: 2, voters: ["telegram:7", "ann"] };
    draft(gave("telegram:7"))
      .when(approve(word("ann", { required: 2 })))
      .then(gave("ann"), approved(1, { sendRequested: true, quorum, approver: "ann", sendAfter }));
  });

  it("an approval does not count if its giver was removed before the others approved", () => {
    const lapsed = { required: 2, lapsed: ["session:ann"] };
    draft(gave("session:ann"))
      .when(approve(word("bob", lapsed)))
      .then(gave("bob"));
    draft(gave("session:ann"), gave("bob"))
      .when(approve(word("cyd", lapsed)))
      .thenTypes("ApprovalGiven", "DraftApproved");
  });
});

describe("an approval by link that is taken back", () => {
  const byLinkAlone = (tokenSha256: string) =>
    approved(1, { sendRequested: true, tokenSha256, approver: "mailbox:ann", sendAfter });
  const undoBy = (tokenSha256: string): ReviewCommand => ({ ...undo("mailbox:ann"), tokenSha256 }) as ReviewCommand;

  it("a link takes back its own approval, and neither another link of the same mailbox nor a colleague's does", () => {
    draft(byLinkAlone("one")).when(undoBy("one")).then(back("mailbox:ann"));
    draft(byLinkAlone("one")).when(undoBy("two")).thenRejected("invalid_status");
    draft(bySession("mailbox:ann")).when(undoBy("one")).thenRejected("invalid_status");
    draft(byLinkAlone("one")).when(undo("bob")).thenRejected("invalid_status");
  });

  it("a link takes back its approval once, and not once the draft is queued, sent or rejected", () => {
    draft(byLinkAlone("one"), back("mailbox:ann")).when(undoBy("one")).then();
    draft(byLinkAlone("one"), back("mailbox:ann"), byLinkAlone("two"))
      .when(undoBy("one"))
      .thenRejected("invalid_status");
    draft(byLinkAlone("one"), queued(1)).when(undoBy("one")).thenRejected("invalid_status");
    draft(byLinkAlone("one"), queued(1), sent()).when(undoBy("one")).thenRejected("invalid_status");
    draft(rejected(1)).when(undoBy("one")).thenRejected("invalid_status");
  });

  it("a link takes back its own one of too few approvals, and no other", () => {
    const vote = gave("mailbox:ann", { tokenSha256: "one" });
    draft(vote)
      .when(undoBy("one"))
      .then({ type: "ApprovalWithdrawn", data: { version: 1, voter: "mailbox:ann" } });
    draft(vote).when(undoBy("two")).then();
    draft(vote, gave("bob")).when(undoBy("two")).then();
  });
});

describe("an approval that is taken back", () => {
  it("an approval that is taken back makes the draft pending, to be approved again", () => {
    draft(bySession("ann")).when(undo("ann")).then(back("ann"));
    draft(bySession("ann"), back("ann"))
      .when(approve(word("bob")))
      .then(bySession("bob"));
    // There is no approval left to undo.
    draft(bySession("ann"), back("ann")).when(undo("ann")).then();
  });

  it("people take back only their own approval, and only before the send has begun", () => {
    draft(bySession("ann")).when(undo("bob")).thenRejected("invalid_status");
    draft(approved(1, { tokenSha256: "token", sendRequested: true }))
      .when(undo("ann"))
      .thenRejected("invalid_status");
    draft(bySession("ann"), queued(1)).when(undo("ann")).thenRejected("invalid_status");
    draft(bySession("ann"), queued(1), sent()).when(undo("ann")).thenRejected("invalid_status");
    const held: DraftEvent = { type: "SendHeld", data: { code: "plan_limit_reached", message: "x" } };
    draft(bySession("ann"), held).when(undo("ann")).thenRejected("invalid_status");
    const paused: DraftEvent = { type: "SendHeld", data: { code: "sending_paused", message: "x" } };
    draft(bySession("ann"), paused).when(undo("ann")).thenRejected("invalid_status");
    draft(rejected(1)).when(undo("ann")).thenRejected("invalid_status");
  });

  it("an approval that does not send, or that no signed-in person completed, cannot be taken back", () => {
    draft(approved(1, { approver: "ann" }))
      .when(undo("ann"))
      .thenRejected("invalid_status");
    draft(approved(1, { approver: "ann", sendAfter }))
      .when(undo("ann"))
      .thenRejected("invalid_status");
    const quorum = { required: 2, voters: ["ann", "bob"] };
    draft(gave("ann"), gave("bob"), approved(1, { sendRequested: true, quorum }))
      .when(undo("ann"))
      .thenRejected("invalid_status");
  });

  it("a refusal to take an approval back names the draft's status", () => {
    const refusal = (command: Parameters<typeof draftDecider.decide>[0], ...events: DraftEvent[]) => {
      const state = fold(draftDecider, [submitted(), ...events]);
      return expect(() => draftDecider.decide(command, state))
        .to.throw(Rejected)
        .with.property("details");
    };
    refusal(undo("bob"), bySession("ann")).that.deep.equals({ status: "approved" });
    const early = { type: "QueueDraft", queued: queued(1).data, at: "2026-01-01T12:00:09.999Z" } as const;
    refusal(early, bySession("ann")).that.deep.equals({ status: "approved" });
    refusal({ type: "QueueDraft", queued: queued(1).data }).that.deep.equals({ status: "pending" });
  });

  it("taking back one of several votes leaves the others' votes", () => {
    const took: DraftEvent = { type: "ApprovalWithdrawn", data: { version: 1, voter: "ann" } };
    draft(gave("ann"), gave("bob", { required: 3 }))
      .when(undo("ann"))
      .then(took);
    draft(gave("ann"), took)
      .when(approve(word("ann", { required: 2 })))
      .then(gave("ann"));
    draft(gave("mailbox:ann"))
      .when(undo("session:ann", ["mailbox:ann"]))
      .then({ type: "ApprovalWithdrawn", data: { version: 1, voter: "mailbox:ann" } });

    const quorum = { required: 2, voters: ["bob", "ann"] };
    const complete = [
      gave("bob"),
      gave("ann"),
      approved(1, { sendRequested: true, quorum, approver: "ann", sendAfter }),
    ];
    draft(...complete)
      .when(undo("ann"))
      .then(back("ann"));
    draft(...complete)
      .when(undo("bob"))
      .then(back("bob"));
    draft(...complete, back("ann"))
      .when(approve(word("cyd", { required: 2 })))
      .thenTypes("ApprovalGiven", "DraftApproved");
    draft(...complete, back("ann"))
      .when(approve(word("bob", { required: 2 })))
      .then();
  });

  it("people take back their own vote under another name, also if it was enough when they approved again", () => {
    const votes = [gave("mailbox:ann", { required: 3 }), gave("bob", { required: 3 })];
    const ann = word("session:ann", { required: 2, also: ["mailbox:ann"] });
    const quorum = { required: 2, voters: ["mailbox:ann", "bob"] };
    const complete = approved(1, { sendRequested: true, quorum, approver: "session:ann", sendAfter });
    draft(...votes)
      .when(approve(ann))
      .then(complete);
    const { because } = undo("session:ann") as { because: string };
    const taken: DraftEvent = { type: "DraftReturnedToPending", data: { because, withdrawn: "mailbox:ann" } };
    draft(...votes, complete)
      .when(undo("session:ann", ["mailbox:ann"]))
      .then(taken);
    // If both of a person's names have voted, the vote under the asking name is withdrawn.
    draft(gave("mailbox:ann"), gave("session:ann"), { ...complete, data: { ...complete.data, quorum } })
      .when(undo("session:ann", ["mailbox:ann"]))
      .then(back("session:ann"));
    // An undone approval does not count when the next approver approves.
    draft(...votes, complete, taken)
      .when(approve(word("bob", { required: 2 })))
      .then();
  });

  it("a send that began before the approval was taken back is not queued", () => {
    draft(bySession("ann"), back("ann"))
      .when({ type: "QueueDraft", queued: queued(1).data, at: sendAfter })
      .thenRejected("invalid_status");
    const early = { type: "QueueDraft", queued: queued(1).data, at: "2026-01-01T12:00:09.999Z" } as const;
    draft(bySession("ann")).when(early).thenRejected("invalid_status");
    draft(bySession("ann"))
      .when({ ...early, at: sendAfter })
      .then(queued(1));
  });
});

describe("an edit that its author approves by the same act", () => {
  const atOnce = edited(2, { approvedAtOnce: true });

  it("an edit and its author's approval are stored in one append", () => {
    draft()
      .when(editAndApprove(word("ann")))
      .then(atOnce, bySession("ann", 2));
    draft(atOnce, bySession("ann", 2))
      .when(editAndApprove(word("ann")))
      .then();
  });

  it("an edit with approval is refused unless it is of the version that was shown", () => {
    draft(edited(2))
      .when(editAndApprove(word("ann")))
      .thenRejected("version_mismatch");
    // The approval is theirs, but the form is not the same: it has other content, or shows another version.
    const mine = [edited(2), bySession("ann", 2)];
    draft(...mine)
      .when(editAndApprove(word("ann"), 1, { contentSha256: "other words" }))
      .thenRejected("invalid_status");
    draft(...mine)
      .when(editAndApprove(word("ann"), 2, { contentSha256: "hash 2" }))
      .thenRejected("invalid_status");
    // Another person's version with the same text does not count as theirs.
    draft(edited(2), bySession("bob", 2))
      .when(editAndApprove(word("ann")))
      .thenRejected("invalid_status");
  });

  it("an edit with approval that changes nothing is an approval alone", () => {
    draft()
      .when(editAndApprove(word("ann"), 1, { changedFields: [] }))
      .then(bySession("ann"));
  });

  it("an edit with approval is one vote where others have to approve too, and ends earlier votes", () => {
    const two = word("ann", { required: 2 });
    draft(gave("bob"))
      .when(editAndApprove(two))
      .then(edited(2), gave("ann", { version: 2, contentSha256: "hash 2" }));
    draft(edited(2), gave("ann", { version: 2, contentSha256: "hash 2" }))
      .when(editAndApprove(two))
      .then();
  });
});

describe("a draft that a signed-in person submits and approves by the same act", () => {
  const submit = (by: AuthorApproval) => ({
    type: "SubmitDraft" as const,
    draft: submitted().data,
    authorApproval: by,
  });

  it("a draft that a person submits and approves is approved once", () => {
    given(draftDecider)
      .when(submit(word("ann")))
      .then(submitted({ approvedAtOnce: true }), bySession("ann"));
    draft()
      .when(submit(word("ann")))
      .then();
  });

  it("a draft that a person submits and approves has their vote where others have to approve too", () => {
    given(draftDecider)
      .when(submit(word("ann", { required: 2 })))
      .then(submitted(), gave("ann"));
  });
});
