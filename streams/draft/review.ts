import { unreachable } from "../unreachable.ts";
import { requireNoChangesRequest } from "./changesRequest.ts";
import { type Press, recordUnconfirmedPress } from "./confirmation.ts";
import { type Draft, isByPersonOrKey, requireStatus } from "./draft.ts";
import { type ChannelPress, type EditDraft, edit, judgeChannelPress } from "./edits.ts";
import type { DraftEvent, Sheet } from "./events.ts";
import { requireOpenLink } from "./notification.ts";
import { approverIn, isSamePerson, losesQuorumWithout, recordVote, type UndoWindow, type Voting } from "./quorum.ts";
import { requireShown } from "./shown.ts";
import { type UndoApproval, undoApproval } from "./undo.ts";

/** A person's approval of what they write themselves. `undoWindow`: absent if they cannot take it back. */
export type AuthorApproval = { voting: Voting; undoWindow?: UndoWindow; sendRequested: boolean };

/** Commands of people who decide, and of the agent that edits. A decision is bound to the version and hash that were shown. */
export type ReviewCommand =
  | EditDraft
  | ({
      type: "ApproveDraft";
      ifVersion: number | null;
      /** The hash that was shown; null if none was. */
      contentSha256: string | null;
      sendRequested: boolean;
      /** If a rule approves: its run and id. */
      grantedBy?: { runId: string; ruleId: string };
      /** The voter, if more than one approval may be required. Absent: this one is enough. */
      voting?: Voting;
      /** Present if the person can take the approval back. A repetition changes nothing. */
      undoWindow?: UndoWindow;
      /** Present if the person decided about several drafts on one page. */
      sheet?: Sheet;
    } & Press)
  /**
   * A person edits the draft and approves the resulting version. A repetition changes nothing. `inChannel`: present if an approver does so
   * by a link or a button, absent for a signed-in person.
   */
  | { type: "EditAndApprove"; edit: EditDraft; authorApproval: AuthorApproval; inChannel?: ChannelPress }
  /** A person takes back their own approval: one of too few, or the draft's before it is queued. */
  | UndoApproval
  | ({ type: "RejectDraft"; reason: string | null; ifVersion: number | null } & Press)
  | { type: "ReturnToPending"; because: string }
  /**
   * The rule or setting that approved this version no longer applies; or, with `lapsed`, these signed-in voters may no longer decide. An
   * approval that others gave meanwhile stays valid.
   */
  | { type: "WithdrawApproval"; version: number; because: string; lapsed?: readonly string[] }
  /** Drafts in `answeredBy` answered the same message after this draft was approved. Takes effect once for each of them. */
  | { type: "AskAgain"; version: number; answeredBy: readonly string[] }
  /** The rules of draft.created begin. Recorded if the draft waits for them. */
  | { type: "BeginRules" }
  /** The rules of draft.created have run, once. `manual` revokes an automatic approval that has not led to a send yet. */
  | { type: "ApplyRules"; mode: "auto" | "manual" | null; because: string }
  /** Returns an auto-approved draft to a person, because its rules could not be run in time. */
  | { type: "GiveUpOnRules"; because: string };

export function decideReview(command: ReviewCommand, draft: Draft): DraftEvent[] {
  switch (command.type) {
    case "EditDraft":
      return edit(command, draft);
    case "ApproveDraft":
      if (command.undoWindow && isApprovedBy(draft, command) && command.ifVersion === draft.version) return [];
      requireStatus(draft, "approved", "pending");
      requireShown(command.ifVersion, command.contentSha256, draft);
      requireOpenLink(draft, command.tokenSha256);
      requireNoChangesRequest(draft);
      return recordUnconfirmedPress(command, draft) ?? approve(command, draft);
    case "EditAndApprove":
      return editAndApprove(command, draft);
    case "UndoApproval":
      return undoApproval(command, draft);
    case "RejectDraft":
      // The first press decides. A key may also reject an approved draft.
      requireStatus(draft, "rejected", ...rejectableFrom(command));
      requireShown(command.ifVersion, null, draft);
      requireOpenLink(draft, command.tokenSha256);
      // The request for changes closed the links of its version. A key and a signed-in person can still reject.
      if (command.tokenSha256 !== null) requireNoChangesRequest(draft);
      return (
        recordUnconfirmedPress(command, draft) ?? [
          {
            type: "DraftRejected",
            data: { version: draft.version, reason: command.reason, tokenSha256: command.tokenSha256 },
          },
        ]
      );
    case "ReturnToPending":
      if (draft.status !== "approved") return [];
      return [{ type: "DraftReturnedToPending", data: { because: command.because } }];
    case "WithdrawApproval": {
      const { because, lapsed } = command;
      if (draft.status !== "approved" || draft.version !== command.version) return [];
      if (lapsed ? !losesQuorumWithout(draft, lapsed) : isByPersonOrKey(draft.approval)) return [];
      return [{ type: "DraftReturnedToPending", data: { because, ...(lapsed && { lapsed: [...lapsed] }) } }];
    }
    case "AskAgain": {
      if (draft.status !== "approved" || draft.version !== command.version) return [];
      const answeredBy = command.answeredBy.filter((answer) => !draft.askedAgainAbout.includes(answer));
      if (answeredBy.length === 0) return [];
      return [{ type: "DraftReturnedToPending", data: { because: "answered_meanwhile", answeredBy } }];
    }
    case "BeginRules":
      if (draft.rulesBegun || draft.rulesApplied || !isAutoApproval(draft)) return [];
      return [{ type: "DraftRulesBegun", data: {} }];
    case "ApplyRules": {
      if (draft.rulesApplied) return [];
      const applied = rulesApplied(command.mode);
      const takenBack = command.mode === "manual" && isAutoApproval(draft);
      return takenBack ? [{ type: "DraftReturnedToPending", data: { because: command.because } }, applied] : [applied];
    }
    case "GiveUpOnRules":
      if (draft.rulesApplied || !isAutoApproval(draft)) return [];
      return [{ type: "DraftReturnedToPending", data: { because: command.because } }];
    default:
      return unreachable(command);
  }
}

function approve(
  command: Omit<
    Extract<ReviewCommand, { type: "ApproveDraft" }>,
    "type" | "ifVersion" | "contentSha256" | keyof Press
  > &
    Pick<Press, "tokenSha256">,
  draft: Pick<Draft, "version" | "contentSha256" | "votes">,
): DraftEvent[] {
  const { sendRequested, tokenSha256, grantedBy, voting, undoWindow, sheet } = command;
  if (voting !== undefined && voting.required > 1)
    return recordVote(draft, { voting, sendRequested, tokenSha256, undoWindow });
  const { version, contentSha256 } = draft;
  const by = voting ? approverIn(voting.voter, { undoWindow, sends: sendRequested }) : {};
  return [
    {
      type: "DraftApproved",
      data: {
        ...{ version, contentSha256, sendRequested, tokenSha256 },
        ...(grantedBy && { grantedBy }),
        ...by,
        ...(sheet && { sheet }),
      },
    },
  ];
}

/** True for a repeated press: the draft already has this person's approval. */
const isApprovedBy = ({ status, approver }: Draft, { voting }: { voting?: Voting }): boolean =>
  status === "approved" && approver !== null && approver.voter === voting?.voter;

/** Returns the events of the author's approval of their own version, which has no approvals yet. */
const approvalByAuthor = (
  draft: Pick<Draft, "version" | "contentSha256">,
  authorApproval: AuthorApproval,
  tokenSha256: string | null = null,
): DraftEvent[] => approve({ ...authorApproval, tokenSha256 }, { ...draft, votes: [] });

const approves = (events: readonly DraftEvent[]): boolean => events.some(({ type }) => type === "DraftApproved");

/** Submits a draft that a signed-in person writes and approves by the same act; it stays pending if others must approve too. */
export function submitApproved(
  submitted: Extract<DraftEvent, { type: "DraftSubmitted" }>["data"],
  authorApproval: AuthorApproval,
): DraftEvent[] {
  const approval = approvalByAuthor({ version: 1, contentSha256: submitted.contentSha256 }, authorApproval);
  const data = { ...submitted, ...(approves(approval) && { approvedAtOnce: true as const }) };
  return [{ type: "DraftSubmitted", data }, ...approval];
}

function editAndApprove(
  { edit: command, authorApproval, inChannel }: Extract<ReviewCommand, { type: "EditAndApprove" }>,
  draft: Draft,
): DraftEvent[] {
  if (isDoneBefore(command, authorApproval, draft)) return [];
  const unconfirmed = inChannel && judgeChannelPress(inChannel, command, draft);
  if (unconfirmed) return unconfirmed;
  const tokenSha256 = inChannel?.tokenSha256 ?? null;
  const [edited] = edit(command, draft);
  if (edited === undefined) requireNoChangesRequest(draft);
  if (edited?.type !== "DraftEdited") return approve({ ...authorApproval, tokenSha256 }, draft);
  const { version, contentSha256 } = edited.data;
  const approval = approvalByAuthor({ version, contentSha256 }, authorApproval, tokenSha256);
  return [{ ...edited, data: { ...edited.data, ...(approves(approval) && { approvedAtOnce: true }) } }, ...approval];
}

/** True for a repeated form: its version exists, and this person has approved it. */
const isDoneBefore = ({ ifVersion, contentSha256 }: EditDraft, { voting }: AuthorApproval, draft: Draft): boolean =>
  ifVersion === draft.version - 1 &&
  contentSha256 === draft.contentSha256 &&
  (isApprovedBy(draft, { voting }) || draft.votes.some((vote) => isSamePerson(vote, voting)));

const rejectableFrom = ({ tokenSha256 }: Press): Draft["status"][] =>
  tokenSha256 === null ? ["pending", "approved", "stale"] : ["pending"];

export const rulesApplied = (mode: "auto" | "manual" | null): DraftEvent => ({
  type: "DraftRulesApplied",
  data: { mode },
});

const isAutoApproval = (draft: Draft): boolean => draft.autoApproved && draft.status === "approved";
