import type { ChatMessage } from "#streams/draft/events.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { CardedView } from "./approvalDecisions.ts";
import type { Decision } from "./approvalView.ts";

/** One question to the approvers behind a channel. */
export type ApprovalRequest = {
  /** As the identity has it, its secrets opened: never to be stored or logged. An empty secret is one whose key is gone from the ring. */
  channel: ApprovalChannel;
  view: CardedView;
  /** What a chat's buttons carry: the token of each choice, which is what its link carries too. */
  tokens: Record<Decision, string>;
  /** Where each choice is made; each carries a token of its own. */
  links: Record<Decision, string>;
  /** What the page behind these links asks for, if it does; nothing but this request may say it. */
  confirmCode?: string | null;
  /** Whose draft it is, and an id for this very question. */
  workspaceId: string;
  origin: { identityId: string; threadId: string; attemptId: string };
};

/**
 * `again`: trying later may help. `error` is a sentence that explains why no approver was reached. `inMs`: the request only waits, for room in the
 * service's own measure of mail or because its provider says so, for so many milliseconds. That is no failed try: it is asked then, however often it has
 * to wait. `movedTo`: the chat has this id from now on, says its provider, and the question is there; the identity is to name it so.
 */
export type Answer =
  | { reached: true; message?: ChatMessage; movedTo?: string }
  | { reached: false; error: string; again: boolean; inMs?: number };

/** A place in the service's own measure of mail for one request, or the answer that the request gets without one. */
export type Room = { giveBack(): Promise<void> } | Extract<Answer, { reached: false }>;

/** What became of a question that is still in a chat with its buttons. */
export type Conclusion = Pick<ApprovalRequest, "channel" | "workspaceId"> & {
  message: ChatMessage;
  /** The conversation's own subject. */
  threadSubject: string;
  /** Who decided what and when, or why the buttons no longer count; quotes names by others, not escaped for any markup. */
  sentence: string;
};

/** A short text that asks nothing, one line each. Lines may quote words by others: visible, and not escaped for any markup. */
export type ShortNotice = Pick<ApprovalRequest, "channel"> & { lines: readonly string[] };

/** One question about several drafts of a workspace, asked by one link to a page that lists them. */
export type BundleRequest = Pick<ApprovalRequest, "channel" | "workspaceId" | "origin"> & {
  /** How many there are. */
  count: number;
  /** The first of them. */
  drafts: readonly { subject: string; to: readonly string[] }[];
  link: string;
  /** Each of them requires human approval: no key and no rule approves or sends one. */
  humanRequired: boolean;
  /** ISO time. */
  expiresAt: string;
};

/**
 * A way to approvers. Asking may happen twice; it never throws. One without `askTogether` is asked about each draft. `takeRoom`: where requests are
 * measured; a request that takes no place there is neither recorded nor sent. Throws Unavailable. `conclude`, where there is one,
 * takes the buttons off a question and says what became of it; doing so twice changes nothing. `tell`, where there is one, posts a short text.
 */
export type Channel = {
  takeRoom?(request: Pick<ApprovalRequest, "channel" | "workspaceId"> & { attemptId: string }): Promise<Room>;
  ask(request: ApprovalRequest): Promise<Answer>;
  askTogether?(request: BundleRequest): Promise<Answer>;
  conclude?(conclusion: Conclusion): Promise<Answer>;
  tell?(notice: ShortNotice): Promise<Answer>;
};

/** One for each type an identity can name. */
export type Channels = Readonly<Record<ApprovalChannel["type"], Channel>>;
