import { expect } from "chai";
import { fold } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { ChannelPress, EditDraft } from "#streams/draft/edits.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Voting } from "#streams/draft/quorum.ts";
import type { ReviewCommand } from "#streams/draft/review.ts";
import { approved, asked, closed, edited, rejected, submitted } from "#test/support/examples/drafts.ts";
import { given } from "#test/support/given.ts";

const question = asked("one", { confirmCode: "right" });
const draft = (...events: DraftEvent[]) => given(draftDecider, submitted(), question, ...events);

const voting = (different: Partial<Voting> = {}): Voting => ({
  ...{ voter: "mailbox:boss@example.com", place: null, required: 1, keysCount: false },
  ...different,
});
const edit = (different: Partial<EditDraft> = {}): EditDraft => {
  const { version: _, ...data } = edited(2).data;
  return { type: "EditDraft", ...data, because: "edit", ifVersion: 1, ...different };
};
const press = (
  different: Partial<ChannelPress> = {},
  { by = {}, content = {} }: { by?: Partial<Voting>; content?: Partial<EditDraft> } = {},
): ReviewCommand => ({
  type: "EditAndApprove",
  edit: edit(content),
  authorApproval: { voting: voting(by), sendRequested: true },
  inChannel: {
    ...{ tokenSha256: "one approve", codeMacs: ["right"], shownSha256: "hash 1", previewedSha256: "hash 2" },
    ...different,
  },
});
const atOnce: DraftEvent = { ...edited(2), data: { ...edited(2).data, approvedAtOnce: true } };
const byLink = (version: number) => approved(version, { sendRequested: true, tokenSha256: "one approve" });
const vote = { version: 2, contentSha256: "hash 2", tokenSha256: "one approve", sendRequested: true };
const requested: DraftEvent = {
  type: "ChangesRequested",
  data: {
    ...{ version: 1, contentSha256: "hash 1", text: "Say when.", tokenSha256: null, requester: "session:ann" },
  },
};

describe("an edit where the card is", () => {
  it("an edit by a link and its approval are appended together, and a person approved the draft", () => {
    draft().when(press()).then(atOnce, byLink(2));
    const state = fold(draftDecider, [submitted(), question, atOnce, byLink(2)]);
    expect(state).to.deep.include({ status: "approved", approval: { by: "person" }, version: 2, approver: null });
  });

  it("an edit by a link is bound to the version and the hash that its card showed", () => {
    draft()
      .when(press({}, { content: { ifVersion: 2 } }))
      .thenRejected("version_mismatch");
    draft()
      .when(press({ shownSha256: "another" }))
      .thenRejected("version_mismatch");
    draft(edited(2)).when(press()).thenRejected("version_mismatch");
  });

  it("an edit by a link appends only the content that was previewed", () => {
    draft()
      .when(press({ previewedSha256: "another" }))
      .thenRejected("version_mismatch");
    draft()
      .when(press({}, { content: { contentSha256: "unseen" } }))
      .thenRejected("version_mismatch");
  });

  it("an edit by a link needs a draft that waits for its decision", () => {
    draft(approved(1)).when(press()).thenRejected("invalid_status");
    draft(rejected(1)).when(press()).thenRejected("invalid_status");
  });

  it("an edit without the code, or with a wrong one, is not made; the fifth wrong code closes the link", () => {
    draft()
      .when(press({ codeMacs: undefined }))
      .thenRejected("confirm_code_missing");
    const refused: DraftEvent = { type: "ConfirmCodeRefused", data: { notificationId: "one" } };
    draft()
      .when(press({ codeMacs: ["wrong"] }))
      .then(refused);
    draft(refused, refused, refused, refused)
      .when(press({ codeMacs: ["wrong"] }))
      .thenTypes("ConfirmCodeRefused", "ApprovalLinkClosed");
    draft(closed("one", "wrong_codes")).when(press()).thenRejected("link_closed");
  });

  it("an edit is one vote of its editor for the new version, and earlier approvals no longer count", () => {
    const earlier: DraftEvent = {
      type: "ApprovalGiven",
      data: { ...vote, version: 1, contentSha256: "hash 1", voter: "session:ann", required: 2 },
    };
    const given: DraftEvent = {
      type: "ApprovalGiven",
      data: { ...vote, voter: "mailbox:boss@example.com", required: 2 },
    };
    draft(earlier)
      .when(press({}, { by: { required: 2 } }))
      .then(edited(2), given);
    // The same press again changes nothing.
    draft(earlier, edited(2), given)
      .when(press({}, { by: { required: 2 } }))
      .then();
    const state = fold(draftDecider, [submitted(), question, earlier, edited(2), given]);
    expect([state.status, state.votes.map(({ voter }) => voter)]).to.deep.equal([
      "pending",
      ["mailbox:boss@example.com"],
    ]);
  });

  it("an edit by a link answers an open request for changes; the unchanged text does not", () => {
    draft(requested).when(press()).then(atOnce, byLink(2));
    draft(requested)
      .when(press({ previewedSha256: "hash 1" }, { content: { contentSha256: "hash 1", changedFields: [] } }))
      .thenRejected("changes_requested");
  });

  it("an edit that changes nothing is an approval by that link of the version that was shown", () => {
    draft()
      .when(press({ previewedSha256: "hash 1" }, { content: { contentSha256: "hash 1", changedFields: [] } }))
      .then(byLink(1));
  });
});
