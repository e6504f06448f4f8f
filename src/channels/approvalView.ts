import type { DraftContent } from "#streams/draft/content.ts";
import type { DraftStatus } from "#streams/draft/draft.ts";
import type { LinkClosure } from "#streams/draft/events.ts";

/** What an approver can choose. */
export type Decision = "approve" | "reject";

/** What the checks of the sender said; `aligned`: the From address is proven. */
export type Authentication = { spf: string; dkim: string; dmarc: string; aligned: boolean };

/** The inbound message a draft answers. */
export type AnsweredMessage = {
  fromName: string | null;
  fromEmail: string;
  /** ISO time of its acknowledgement. */
  receivedAt: string;
  subject: string;
  /** What its sender wrote this time. */
  newText: string;
  /** What it quotes; "" if nothing. */
  quotedText: string;
  authentication: Authentication | null;
  /** File names. */
  attachments: string[];
};

/** An inbound message that came after the one the draft answers. `newText` is null while it is held and its content may not be shown. */
export type NewerMessage = {
  fromName: string | null;
  fromEmail: string;
  receivedAt: string;
  subject: string;
  newText: string | null;
};

/** A draft's outcome once somebody, or the customer's newer mail, has decided about it. */
export type RecordedOutcome = {
  decision: "approved" | "rejected" | "sending" | "sent" | "stale" | "failed";
  /** Display name of who decided; null if nobody did. */
  by: string | null;
  /** ISO time. */
  at: string;
  /** Of a rejection, or of a failure. */
  reason?: string | null;
};

/** All that an approver is shown of one version of a draft, in whatever channel. Times are ISO strings. */
export type ApprovalView = {
  draftId: string;
  version: number;
  /** Hex. */
  contentSha256: string;
  status: DraftStatus;
  /** Who would send it. */
  identity: { displayName: string; address: string };
  content: DraftContent;
  /** Its plain text was made of its HTML. */
  textDerived: boolean;
  /** The pictures that its HTML shows, as `data:` addresses by the hash of their bytes; left out if no picture can be shown. */
  pictures?: ReadonlyMap<string, string>;
  rationale: string | null;
  /** null: it answers nothing, it opens a conversation. */
  answers: AnsweredMessage | null;
  /** Every address that wrote, or was written to, in this conversation. */
  participants: readonly string[];
  /** Sentences beyond those that follow from the view itself (approvalWarnings.ts). */
  warnings: string[];
  /** Approving also sends: the button says so. */
  sendsOnApproval: boolean;
  newerMessage: NewerMessage | null;
  decided: RecordedOutcome | null;
  /** Until when this channel's links work. */
  expiresAt: string;
};

/**
 * What a link leads to: the draft as of the link's own version. `superseded`: the draft was edited since, and this link decides nothing any
 * more. `action`: the choice that its token was given out for. `closed`: why this link decides nothing any more, null while it does.
 */
export type LinkedApproval = ApprovalView & { superseded: boolean; action: Decision; closed: LinkClosure | null };

/** Why something approved does not leave now. */
export type HeldBy = "sending_paused" | "plan_limit_reached" | "identity_disabled";

export type DecideRequest = {
  token: string;
  decision: Decision;
  /** At most 2 KB. */
  reason: string | undefined;
  ip: string | undefined;
  userAgent: string | undefined;
  requestId: string | undefined;
};

/** How pressing a button ended. */
export type DecisionResult =
  | { kind: "approved"; sending: boolean; note?: HeldBy }
  | { kind: "rejected" }
  | { kind: "already_decided"; view: ApprovalView }
  | { kind: "changed" }
  | { kind: "stale"; newer: NewerMessage | null }
  | { kind: "expired" }
  | { kind: "closed"; because: LinkClosure }
  | { kind: "unknown" };

/** How the pages ask for what they show and say what was pressed. Both throw Unavailable (src/eventStore/eventStore.ts). */
export type ApprovalDecisions = {
  /** Reads only. Undefined for a token that was never given out. An expired one is answered (its `expiresAt` tells). */
  find(token: string): Promise<LinkedApproval | undefined>;
  decide(request: DecideRequest): Promise<DecisionResult>;
};

/** The label of the button that approves. */
export const approveLabel = (view: Pick<ApprovalView, "sendsOnApproval">): string =>
  view.sendsOnApproval ? "Approve & send" : "Approve";
