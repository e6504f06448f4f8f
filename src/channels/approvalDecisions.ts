import type { LinkClosure } from "#streams/draft/events.ts";
import type { ApprovalsSoFar, ApprovalView, Decision, NewerMessage } from "./approvalView.ts";
import type { ReviewCard } from "./card/reviewCard.ts";

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
