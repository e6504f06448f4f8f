import type { LinkClosure } from "#streams/draft/events.ts";
import type { ApprovalsSoFar, ApprovalView, ApproverChoice, ApproverDecision, NewerMessage } from "./approvalView.ts";
import type { ReviewCard } from "./card/reviewCard.ts";

/** A view with the card that is made from it. */
export type CardedView = ApprovalView & { card: ReviewCard };

/**
 * The draft that a link refers to, at the link's own version. `superseded`: the draft was edited since, and this link can no longer
 * decide. `action`: the choice that its token was issued for. `closed`: the reason why this link can no longer decide; null if it still
 * can. `codeTriesLeft`: number of wrong codes that may still be typed before it is closed; null or absent if the page asks for no code.
 */
export type LinkedApproval = CardedView & {
  superseded: boolean;
  action: ApproverDecision;
  closed: LinkClosure | null;
  codeTriesLeft?: number | null;
  /** Set if only named people of a chat may decide: the page shows the draft and has no buttons. */
  inChatOnly?: true;
  /** ISO time until which the approval that this link gave can be undone; null or absent if there is nothing to undo. */
  undoUntil?: string | null;
  /** Place in which the approver can edit the draft: the link's page, or only the console; absent: none. */
  editing?: "here" | "console";
  /** Set if the draft's newest version was edited and approved by this link: nothing more can be decided with it. */
  ownEdit?: true;
};

/** The reason why an approved draft is not sent now. */
export type HeldBy = "sending_paused" | "plan_limit_reached" | "identity_disabled";

/** A person in a chat. `name`: the display name that they chose themselves. */
export type ChatPerson = { kind: "telegram" | "slack"; id: string; name: string };

/** An approver's edit of a draft: its whole new subject and text. */
export type EditedText = { subject: string; text: string };

/** Maximum bytes (UTF-8) of a text by an approver: the reason of a rejection, or the requested changes. */
export const maxReasonBytes = 2048;

export type DecideRequest = {
  token: string;
  /** "edit": change the text and approve it. */
  decision: ApproverChoice | "edit";
  /** Reason of a rejection, or the changes that are requested; at most `maxReasonBytes`. */
  reason: string | undefined;
  /** The edit, for the decision "edit". `previewedSha256`: hash of the edited mail that the approver was shown. */
  edit?: EditedText & { previewedSha256: string };
  /** The typed code, without blanks; absent if none was typed. */
  code?: string | undefined;
  /** The person who pressed a chat's button, as the chat names them; absent for a link's page. */
  by?: ChatPerson | undefined;
  /** Set if the answer is a page that offers the undo: the mail is then not sent before the time to undo is over. */
  undoable?: true;
  ip: string | undefined;
  userAgent: string | undefined;
  requestId: string | undefined;
};

/** Result of pressing a button. */
export type DecisionResult =
  | { kind: "approved"; sending: boolean; note?: HeldBy; undoUntil?: string }
  /**
   * The approval counts, and other approvers are needed too. `again`: this approver had approved before, so nothing changed. The buttons
   * stay.
   */
  | { kind: "vote_counted"; approvals: ApprovalsSoFar; again: boolean }
  | { kind: "rejected" }
  /**
   * The request for changes is recorded, by this press or by an earlier one (`again`). Until it is answered or withdrawn, nobody can decide
   * about this version.
   */
  | { kind: "changes_requested"; view: CardedView; again: boolean }
  | { kind: "already_decided"; view: CardedView }
  | { kind: "changed" }
  | { kind: "stale"; newer: NewerMessage | null }
  | { kind: "expired" }
  | { kind: "closed"; because: LinkClosure }
  /** The edit cannot be made: nothing was decided. `field`: the part of the edit that the sentence is about. */
  | { kind: "edit_refused"; sentence: string; field?: keyof EditedText }
  /** No code was typed, or a wrong one; the link can still decide. */
  | { kind: "code_missing" }
  | { kind: "code_wrong"; triesLeft: number }
  /** Only named users of a chat may decide, and a page cannot tell who visits it. */
  | { kind: "in_chat_only" }
  /** The workspace requires named approvers, and a link cannot tell who uses it. */
  | { kind: "sign_in_required" }
  | { kind: "unknown" };

/** A press on the undo button of a link's page. */
export type UndoRequest = Pick<DecideRequest, "token" | "ip" | "userAgent" | "requestId">;

/** Result of pressing undo. `undone`: the link's approval does not count any more. `too_late`: the draft is being sent, or was. */
export type UndoResult =
  | { kind: "undone" }
  | { kind: "too_late"; view: CardedView }
  | Extract<DecisionResult, { kind: "expired" | "closed" | "sign_in_required" | "unknown" }>;

/**
 * A file of a draft, to be downloaded. Its bytes are read part by part on demand, and checked against their hash before the last part.
 */
export type FetchedFile = { name: string; size: number; parts(): AsyncIterable<Buffer> };

/** Results of a press without the required code. */
export type CodeRefused = Extract<DecisionResult, { kind: "code_missing" | "code_wrong" }>;

/** Results of a link or button, whatever code was typed. */
export type LinkResult = Exclude<DecisionResult, CodeRefused>;

/** The edited draft as it would be sent, with its changes. `editedSha256`: its hash, which the last press names. */
export type EditPreview = { kind: "preview"; view: CardedView; editedSha256: string };

/**
 * Port of the approval pages: reads the data that the pages show, and records presses. All methods throw Unavailable
 * (src/eventStore/eventStore.ts).
 */
export type ApprovalDecisions = {
  /** Reads only. Undefined for a token that was never issued. An expired one is returned (see its `expiresAt`). */
  find(token: string): Promise<LinkedApproval | undefined>;
  decide(request: DecideRequest): Promise<DecisionResult>;
  /** Takes back the approval that this very link gave, and no other. */
  undo(request: UndoRequest): Promise<UndoResult>;
  /** Shows how an edit would change the draft. Stores nothing. `by`: the person in a chat; absent for a link's page. */
  previewEdit(request: EditedText & { token: string; by?: ChatPerson | undefined }): Promise<EditPreview | LinkResult>;
  /**
   * Reads only. Returns the draft's n-th attachment, from 1; null if the link shows no such file, undefined for a token that was never
   * issued.
   */
  attachment(token: string, n: number): Promise<FetchedFile | null | undefined>;
};
