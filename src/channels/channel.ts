import type { ChatMessage } from "#streams/draft/events.ts";
import type { ApprovalChannel } from "#streams/identity/events.ts";
import type { CardedView } from "./approvalDecisions.ts";
import type { ApproverDecision } from "./approvalView.ts";

/** One approval request to the approvers behind a channel. */
export type ChannelRequest = {
  /**
   * The identity's channel with its secrets decrypted: never to be stored or logged. An empty secret was encrypted with a key that is no
   * longer in the key ring.
   */
  channel: ApprovalChannel;
  view: CardedView;
  /** Token of each choice, for a chat's buttons; its link has the same one. */
  tokens: Record<ApproverDecision, string>;
  /** Link to the page of each choice; each contains its own token. */
  links: Record<ApproverDecision, string>;
  /** Code that the page behind these links asks for; null or absent if it asks for none. The code may be sent in this request only. */
  confirmCode?: string | null;
  /** Workspace of the draft, and an id of this very request. */
  workspaceId: string;
  origin: { identityId: string; threadId: string; attemptId: string };
};

/**
 * `again`: a retry may help. `error`: a sentence saying why no approver was reached. `inMs`: the request has to wait this many
 * milliseconds, for room in the notification quota or because its provider says so. That is not a failed attempt: it is retried then,
 * however often it has to wait. `movedTo`: the provider says that the chat now has this id, and the question was posted there; the
 * identity should be updated.
 */
export type ChannelAnswer =
  | { reached: true; message?: ChatMessage; movedTo?: string }
  | { reached: false; error: string; again: boolean; inMs?: number };

/** A place in the notification quota for one request, or the answer that the request gets without one. */
export type QuotaRoom = { giveBack(): Promise<void> } | Extract<ChannelAnswer, { reached: false }>;

/** Outcome of a question that is still in a chat with its buttons. */
export type Conclusion = Pick<ChannelRequest, "channel" | "workspaceId"> & {
  message: ChatMessage;
  /** The conversation's own subject. */
  threadSubject: string;
  /** Says who decided what and when, or why the buttons no longer count; quotes display names, not escaped for any markup. */
  sentence: string;
};

/**
 * A short text without a question, one line each. Lines may quote other people's text: invisible characters are shown, but nothing is
 * escaped for markup.
 */
export type ShortNotice = Pick<ChannelRequest, "channel"> & { lines: readonly string[] };

/** One request about several drafts of a workspace, with one link to a page that lists them. */
export type BundleRequest = Pick<ChannelRequest, "channel" | "workspaceId" | "origin"> & {
  /** Number of drafts. */
  count: number;
  /** The first few of them. */
  drafts: readonly { subject: string; to: readonly string[] }[];
  link: string;
  /** True if all of the drafts require human approval: no key and no rule can approve or send one. */
  humanRequired: boolean;
  /** Links lead to the sign-in: only members decide by them. */
  namedOnly: boolean;
  /** ISO time. */
  expiresAt: string;
};

/**
 * A way to ask approvers. A request may be made twice; it never throws. A channel without `askTogether` is asked about each draft
 * separately. `takeRoom`: for channels with a quota; a request that gets no place there is neither recorded nor sent. Throws Unavailable.
 * `conclude`, if present, replaces a question's buttons by its outcome; repeating it changes nothing. `tell`, if present, posts a short
 * text.
 */
export type Channel = {
  takeRoom?(request: Pick<ChannelRequest, "channel" | "workspaceId"> & { attemptId: string }): Promise<QuotaRoom>;
  ask(request: ChannelRequest): Promise<ChannelAnswer>;
  askTogether?(request: BundleRequest): Promise<ChannelAnswer>;
  conclude?(conclusion: Conclusion): Promise<ChannelAnswer>;
  tell?(notice: ShortNotice): Promise<ChannelAnswer>;
};

/** One channel for each type that an identity can name. */
export type Channels = Readonly<Record<ApprovalChannel["type"], Channel>>;
