import type { DraftContent, HtmlRemoved } from "#streams/draft/content.ts";
import type { DraftStatus } from "#streams/draft/draft.ts";
import type { EditReason } from "#streams/draft/events.ts";
import type { WarningKind } from "#streams/draft/warnings.ts";
import type { Hint } from "./hints/hints.ts";

/** The decisions that end a draft's review. */
export type ApproverDecision = "approve" | "reject";

/** The choices of an approver. */
export type ApproverChoice = ApproverDecision | "request_changes";

/** A request for changes. `by`: display name; `at`: ISO time. `isUnchanged`: the mail is still the one that it was about. */
export type RequestedChanges = { by: string; text: string; at: string; version: number; isUnchanged: boolean };

/**
 * Results of the sender checks; `aligned`: the From address is proven. `covers`: other address fields that are proven too; absent: none.
 */
export type ShownAuthentication = {
  spf: string;
  dkim: string;
  dmarc: string;
  aligned: boolean;
  covers?: readonly ("to" | "cc" | "reply_to")[];
};

/** The inbound message a draft answers. */
export type AnsweredMessage = {
  fromName: string | null;
  fromEmail: string;
  /** ISO time of its acknowledgement. */
  receivedAt: string;
  subject: string;
  /** Text of the message, without the folded part. */
  newText: string;
  /** The message's quotations of earlier messages of the conversation, shown folded; "" if there are none. */
  quotedText: string;
  authentication: ShownAuthentication | null;
  attachments: readonly AttachmentFact[];
};

/** An inbound message received after the one the draft answers. `newText` is null while it is held and its content may not be shown. */
export type NewerMessage = {
  fromName: string | null;
  fromEmail: string;
  receivedAt: string;
  subject: string;
  newText: string | null;
};

/** A warning whose sentence cannot be derived from the view itself. */
export type OwnWarning = { kind: WarningKind; sentence: string };

/** A mail of ours, or a draft of one, as described in a warning. `at`: ISO time. */
export type BriefMail = { subject: string; text: string; at: string };

/** A draft's outcome after a decision, or after the customer's newer mail. */
export type RecordedOutcome = {
  decision: "approved" | "rejected" | "sending" | "sent" | "stale" | "failed";
  /** Display name of the person who decided; null if no person did. */
  by: string | null;
  /** ISO time. */
  at: string;
  /** Reason of a rejection or a failure. */
  reason?: string | null;
  /** The approver can still take the approval back: then the question is open again, with the links or buttons that decide it. */
  undoable?: true;
};

/** Sentence added to an outcome that is not final. */
export const mayReopen = "It will be sent within seconds, unless the approval is undone.";

/** What an approver can do in place of a request that has expired. */
export const insteadOfExpired =
  "If the draft still waits, use a newer message about it, or decide in the console under Review.";

/** Number of required approvals, if it is more than one, and the approvals given so far. `by`: display name; `at`: ISO time. */
export type ApprovalsSoFar = { required: number; given: readonly { by: string; at: string }[] };

/** A file of a draft or message. `size` in bytes; null if its bytes are missing. */
export type AttachmentFact = {
  name: string;
  size: number | null;
  /** The media type that its sender declared. */
  declaredType: string;
  /** Kind of the file, detected from its bytes, in a word or two; null if unknown. */
  kind: string | null;
  /** A sentence; null if there is no warning. */
  warning: string | null;
  /** Link where this approver can download it; null if they cannot. */
  download: string | null;
};

/** Why a version was made: as its event says, or "edited_by_person" if a person edited it and not the agent. */
export type VersionReason = EditReason | "edited_by_person";

/** The version that approvers were asked about before. */
export type PreviousVersion = {
  version: number;
  content: DraftContent;
  textDerived: boolean;
  rationale: string | null;
  /** Reasons for the versions since, each once. */
  because: readonly VersionReason[];
};

/** Everything that an approver is shown about one version of a draft, in any channel. Times are ISO strings. */
export type ApprovalView = {
  draftId: string;
  version: number;
  /** Hex. */
  contentSha256: string;
  status: DraftStatus;
  /** The conversation's own subject, whatever the draft's is. */
  threadSubject: string;
  /** The identity that would send it. */
  identity: { displayName: string; address: string };
  content: DraftContent;
  /** True if the draft's plain text was derived from its HTML. */
  textDerived: boolean;
  /** Pictures that its HTML shows, as `data:` URLs by sha256; absent if pictures cannot be shown. */
  pictures?: ReadonlyMap<string, string>;
  /** Elements removed from its HTML when it was submitted. */
  htmlRemoved: readonly HtmlRemoved[];
  attachments: readonly AttachmentFact[];
  rationale: string | null;
  /** null if approvers are asked for the first time. */
  previous: PreviousVersion | null;
  /** null if it opens a conversation and answers nothing. */
  answers: AnsweredMessage | null;
  /** Every address that sent or received a message of this conversation. */
  participants: readonly string[];
  /**
   * True if the draft's Reply-To is not an address of this workspace, so the service does not receive the replies. Absent if it is one, or
   * if there is no Reply-To.
   */
  repliesLeave?: boolean;
  /** Warnings that cannot be derived from the view itself (approvalWarnings.ts), including the notes of the answered message. */
  warnings: OwnWarning[];
  /** Hints about suspicious wording in the answered message, possibly mistaken. They inform and block nothing. */
  hints: Hint[];
  /** Approving also sends, and the button says so. */
  sendsOnApproval: boolean;
  /** True if the draft's identity or workspace requires human approval: no key and no rule can approve or send the draft. */
  humanRequired: boolean;
  /** True if the identity lets approvers edit the draft where its card is. */
  editByChannel: boolean;
  /** True if the draft's workspace requires named approvers: links lead to the sign-in. */
  namedOnly: boolean;
  /**
   * Set if the version was asked about before: by the service itself after a request expired, or because the holder of an expired link
   * wanted a new request. `at`: ISO time.
   */
  askedAgain?: { by: "service" | "holder"; at: string } | null;
  /** The limit of answers because of which this version came back to a person, as a clause; null or absent if it did not. */
  reachedLimit?: string | null;
  newerMessage: NewerMessage | null;
  /** Our newest mail that was queued after the answered message was received; null if there is none. `by`: display name. `elsewhere`: address of the other identity that sent it. */
  answeredMeanwhile: (BriefMail & { by: string; elsewhere: string | null }) | null;
  /** Other drafts that answer the same message and wait for a decision. */
  otherDrafts: readonly BriefMail[];
  /** null or absent if one approval is enough. */
  approvals?: ApprovalsSoFar | null;
  /** The request for changes that this version answers; null if there is none. */
  changesMade: RequestedChanges | null;
  /** The request for changes that the draft waits for; null if there is none. */
  changesRequested: RequestedChanges | null;
  decided: RecordedOutcome | null;
  /** ISO time until which this channel's links are valid. */
  expiresAt: string;
  /** ISO time of the escalation to other approvers if there is no decision; null if there will be none. */
  escalatesAt: string | null;
  /** ISO time when this view was read. */
  shownAt: string;
};

/**
 * Returns the place in which an approver in a chat can edit a draft: the chat, if it is plain text of at most `most` UTF-16 units, else its
 * page; null if approvers may not edit.
 */
export function editPlace(
  { editByChannel, content }: Pick<ApprovalView, "editByChannel" | "content">,
  most: number,
): "chat" | "page" | null {
  if (!editByChannel) return null;
  return content.body_html === null && content.body_text.length <= most ? "chat" : "page";
}

/** The label of the button that approves. */
export const approveLabel = (view: Pick<ApprovalView, "sendsOnApproval">): string =>
  view.sendsOnApproval ? "Approve & send" : "Approve";
