import type { DraftContent, HtmlRemoved } from "#streams/draft/content.ts";
import type { DraftStatus } from "#streams/draft/draft.ts";
import type { EditReason, LinkClosure } from "#streams/draft/events.ts";
import type { ReviewCard } from "./card/reviewCard.ts";

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

/** A view and the card that is made of it. */
export type CardedView = ApprovalView & { card: ReviewCard };

/**
 * What a link leads to: the draft as of the link's own version. `superseded`: the draft was edited since, and this link decides nothing any
 * more. `action`: the choice that its token was given out for. `closed`: why this link decides nothing any more, null while it does.
 * `codeTriesLeft`: how many wrong codes may be typed until it is closed; null or absent if the page asks for none.
 */
export type LinkedApproval = CardedView & {
  superseded: boolean;
  action: Decision;
  closed: LinkClosure | null;
  codeTriesLeft?: number | null;
};

/** Why something approved does not leave now. */
export type HeldBy = "sending_paused" | "plan_limit_reached" | "identity_disabled";

/** A person in a chat. `name` is what others see of them, by their own choice. */
export type ChatPerson = { kind: "telegram" | "slack"; id: string; name: string };

export type DecideRequest = {
  token: string;
  decision: Decision;
  /** At most 2 KB. */
  reason: string | undefined;
  /** What was typed as the code, without blanks; absent if nothing was. */
  code?: string | undefined;
  /** Who pressed a chat's button, as the chat names them; absent for a link's page. */
  by?: ChatPerson | undefined;
  ip: string | undefined;
  userAgent: string | undefined;
  requestId: string | undefined;
};

/** How pressing a button ended. */
export type DecisionResult =
  | { kind: "approved"; sending: boolean; note?: HeldBy }
  /** It counts, and others have to approve too. `again`: this approver had approved before, so it changed nothing. The buttons stay. */
  | { kind: "vote_counted"; approvals: ApprovalsSoFar; again: boolean }
  | { kind: "rejected" }
  | { kind: "already_decided"; view: CardedView }
  | { kind: "changed" }
  | { kind: "stale"; newer: NewerMessage | null }
  | { kind: "expired" }
  | { kind: "closed"; because: LinkClosure }
  /** The code was not typed, or it is a wrong one; the link still decides. */
  | { kind: "code_missing" }
  | { kind: "code_wrong"; triesLeft: number }
  /** Only named people of a chat may decide, and a page does not know who presses. */
  | { kind: "in_chat_only" }
  | { kind: "unknown" };

/** A file of a draft as it is fetched. Its bytes are read part by part when they are needed, and checked against their hash before the last. */
export type FetchedFile = { name: string; size: number; parts(): AsyncIterable<Buffer> };

/** How the pages ask for what they show and say what was pressed. All throw Unavailable (src/eventStore/eventStore.ts). */
export type ApprovalDecisions = {
  /** Reads only. Undefined for a token that was never given out. An expired one is answered (its `expiresAt` tells). */
  find(token: string): Promise<LinkedApproval | undefined>;
  decide(request: DecideRequest): Promise<DecisionResult>;
  /** Reads only. The draft's n-th attachment, from 1; null where the link shows no such file, undefined for a token that was never given out. */
  attachment(token: string, n: number): Promise<FetchedFile | null | undefined>;
};

/** The label of the button that approves. */
export const approveLabel = (view: Pick<ApprovalView, "sendsOnApproval">): string =>
  view.sendsOnApproval ? "Approve & send" : "Approve";
