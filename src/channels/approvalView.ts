import type { DraftContent, HtmlRemoved } from "#streams/draft/content.ts";
import type { DraftStatus } from "#streams/draft/draft.ts";
import type { EditReason } from "#streams/draft/events.ts";

/** What an approver can choose. */
export type Decision = "approve" | "reject";

/**
 * What the checks of the sender said; `aligned`: the From address is proven. `covers`: the address fields that are proven beside it; absent:
 * none.
 */
export type Authentication = {
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
  /** Its text without what is folded. */
  newText: string;
  /** Its quotations of earlier messages of the conversation, which are folded; "" if there are none. */
  quotedText: string;
  authentication: Authentication | null;
  attachments: readonly AttachmentFact[];
};

/** An inbound message that came after the one the draft answers. `newText` is null while it is held and its content may not be shown. */
export type NewerMessage = {
  fromName: string | null;
  fromEmail: string;
  receivedAt: string;
  subject: string;
  newText: string | null;
};

/** A mail of ours, or a draft of one, as a warning tells of it. `at`: ISO time. */
export type BriefMail = { subject: string; text: string; at: string };

/** A draft's outcome once somebody, or the customer's newer mail, has decided about it. */
export type RecordedOutcome = {
  decision: "approved" | "rejected" | "sending" | "sent" | "stale" | "failed";
  /** Display name of who decided; null if nobody did. */
  by: string | null;
  /** ISO time. */
  at: string;
  /** Of a rejection, or of a failure. */
  reason?: string | null;
  /** Who approved it can still take that back: then the question is open again, with what it decides by. */
  undoable?: true;
};

/** What an outcome that is not certain says beyond itself. */
export const mayReopen = "It leaves within seconds, unless the approval is taken back.";

/** If several have to approve: how many, and who has so far. `by`: as others see them; `at`: ISO time. */
export type ApprovalsSoFar = { required: number; given: readonly { by: string; at: string }[] };

/** A file of a draft, or of a message, in its order. `size` in bytes; null if its bytes are not there. */
export type AttachmentFact = {
  name: string;
  size: number | null;
  /** The type that its sender gave it. */
  declaredType: string;
  /** What it is by its bytes, in a word or two; null if that is not known. */
  kind: string | null;
  /** A sentence; null if there is nothing to warn of. */
  warning: string | null;
  /** Where this approver can fetch it; null where they cannot. */
  download: string | null;
};

/** The version that approvers were asked about before this one. */
export type PreviousVersion = {
  version: number;
  content: DraftContent;
  textDerived: boolean;
  rationale: string | null;
  /** Why there were versions since, each reason once. */
  because: readonly EditReason[];
};

/** All that an approver is shown of one version of a draft, in whatever channel. Times are ISO strings. */
export type ApprovalView = {
  draftId: string;
  version: number;
  /** Hex. */
  contentSha256: string;
  status: DraftStatus;
  /** The conversation's own subject, whatever this draft is called. */
  threadSubject: string;
  /** Who would send it. */
  identity: { displayName: string; address: string };
  content: DraftContent;
  /** Its plain text was made of its HTML. */
  textDerived: boolean;
  /** The pictures that its HTML shows, as `data:` addresses by the hash of their bytes; left out if no picture can be shown. */
  pictures?: ReadonlyMap<string, string>;
  /** The removals from its HTML when it was submitted. */
  htmlRemoved: readonly HtmlRemoved[];
  attachments: readonly AttachmentFact[];
  rationale: string | null;
  /** null: approvers are asked for the first time. */
  previous: PreviousVersion | null;
  /** null: it answers nothing, it opens a conversation. */
  answers: AnsweredMessage | null;
  /** Every address that wrote, or was written to, in this conversation. */
  participants: readonly string[];
  /** Its Reply-To is no address of this workspace: nobody here sees the replies. Absent: it is, or there is none. */
  repliesLeave?: boolean;
  /** Sentences beyond those that follow from the view itself (approvalWarnings.ts), the notes of the message it answers among them. */
  warnings: string[];
  /** Sentences on what the words of the message it answers seem to do, which may be mistaken. They point at something, and stop nothing. */
  hints: string[];
  /** Approving also sends: the button says so. */
  sendsOnApproval: boolean;
  /** Its identity or workspace requires human approval: no key and no rule approves or sends it. */
  humanRequired: boolean;
  newerMessage: NewerMessage | null;
  /** The newest mail of ours that was queued after the message it answers; null if there is none. `by`: as others see them. */
  answeredMeanwhile: (BriefMail & { by: string }) | null;
  /** Other drafts on the same message that wait for a decision too. */
  otherDrafts: readonly BriefMail[];
  /** null or absent: one approval is enough. */
  approvals?: ApprovalsSoFar | null;
  decided: RecordedOutcome | null;
  /** Until when this channel's links work. */
  expiresAt: string;
  /** When somebody else is asked if nobody has decided; null if nobody else would be. */
  escalatesAt: string | null;
  /** When this was looked up. */
  shownAt: string;
};

/** The label of the button that approves. */
export const approveLabel = (view: Pick<ApprovalView, "sendsOnApproval">): string =>
  view.sendsOnApproval ? "Approve & send" : "Approve";
