import { Rejected } from "../decider.ts";
import { type Draft, requireStatus, type Vote } from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { isSamePerson } from "./quorum.ts";

/**
 * A person takes back their own approval: one of too few, or the draft's before it is queued. `because`: a text that names the person.
 * `tokenSha256`: the link on whose page the person undoes; only an approval by this very link is theirs. Absent for a signed-in person.
 */
export type UndoApproval = {
  type: "UndoApproval";
  voter: string;
  also?: readonly string[];
  tokenSha256?: string;
  because: string;
};

/**
 * Returns the draft to pending. The others' approvals still count. The stream decides whether it was in time: not once the draft is queued.
 * Nothing to take back is "already so". Throws Rejected invalid_status.
 */
export function undoApproval(command: UndoApproval, draft: Draft): DraftEvent[] {
  if (draft.status === "pending") {
    const own = draft.votes.filter((vote) => isOwn(vote, command));
    return own.map(({ voter }) => ({ type: "ApprovalWithdrawn", data: { version: draft.version, voter } }));
  }
  if (draft.status === "sending" || draft.status === "sent") {
    throw refused(draft, `the approval can no longer be undone: this draft is ${draft.status}`);
  }
  requireStatus(draft, "taken back", "pending", "approved");
  const withdrawn = ownVoter(command, draft);
  if (withdrawn === undefined) {
    throw refused(
      draft,
      "another person approved this draft, so you cannot undo that approval: reject the draft to keep it from being sent",
    );
  }
  if (!draft.approver?.sendAfter || !draft.sendRequested || draft.held !== null) {
    throw refused(draft, "the time to undo this approval is over: reject the draft to keep it from being sent");
  }
  return [{ type: "DraftReturnedToPending", data: { because: command.because, withdrawn } }];
}

const refused = ({ status }: Draft, sentence: string): Rejected => new Rejected("invalid_status", sentence, { status });

type Undoing = Pick<UndoApproval, "voter" | "also" | "tokenSha256">;

const isOwn = (vote: Vote, undoing: Undoing): boolean =>
  undoing.tokenSha256 === undefined ? isSamePerson(vote, undoing) : vote.tokenSha256 === undoing.tokenSha256;

/** Returns the voter id under which this person approved the draft. */
function ownVoter(person: Undoing, { approver, votes }: Draft): string | undefined {
  const { tokenSha256 } = person;
  if (tokenSha256 !== undefined && approver?.tokenSha256 !== tokenSha256)
    return votes.find((vote) => isOwn(vote, person))?.voter;
  // The person who completed the quorum may have voted before under another of their names: that vote is removed.
  const vote = votes.find(({ voter }) => voter === person.voter) ?? votes.find((each) => isSamePerson(each, person));
  return vote?.voter ?? (approver?.voter === person.voter ? approver.voter : undefined);
}

/** Returns until when (ISO 8601) the draft's approval can be taken back, and the draft is not sent; null if it can be sent. `at`: now. */
export const undoDeadline = ({ approver }: Pick<Draft, "approver">, at: string): string | null =>
  approver?.sendAfter && Date.parse(at) < Date.parse(approver.sendAfter) ? approver.sendAfter : null;

/** Returns until when (ISO 8601) the approval that this link gave can be taken back; null if it gave none, or the time is over. */
export const linkUndoDeadline = (draft: Draft, tokenSha256: string, at: string): string | null =>
  draft.status === "approved" && draft.held === null && draft.approver?.tokenSha256 === tokenSha256
    ? undoDeadline(draft, at)
    : null;

/** Refuses a send while the approval can be taken back. Throws Rejected invalid_status. */
export function requireUndoOver(draft: Pick<Draft, "approver" | "status">, at: string): void {
  const until = undoDeadline(draft, at);
  if (until === null) return;
  const sentence = `this draft was approved a moment ago, and the approval can be undone until ${until}: the draft is sent automatically after that`;
  throw new Rejected("invalid_status", sentence, { status: draft.status });
}
