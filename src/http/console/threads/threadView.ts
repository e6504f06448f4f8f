import { randomUUID } from "node:crypto";
import { type IdentityName, identityNames } from "#projections/identities/queries.ts";
import {
  type CameIn,
  type HeldRow,
  heldOfThread,
  lastMessagesOfThread,
  listMessages,
  type WhoseMail,
  whoseMail,
} from "#projections/messages/queries.ts";
import { neighbouringThreads } from "#projections/threads/queries.ts";
import { replyPreview } from "#src/commands/emails/replyPreview.ts";
import { Rejected } from "#streams/decider.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { WireMessage } from "../../present/messages.ts";
import { presentMerged, presentThread } from "../../present/threads.ts";
import { findThread } from "../../threads.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { pageLinksFrom } from "../framework/pageLinks.ts";
import { type MessageViewOptions, messageViews } from "./messageView.ts";
import { nothingWritten, type ReplyView, type TypedReply } from "./replyForm.ts";
import type { ThreadView } from "./threadPage.ts";
import { timeline } from "./timeline.ts";
import { type NewestMessage, whyUnanswered } from "./whyUnanswered.ts";

const pageSize = 20;
const mostDrafts = 100;
/** Maximum number of held messages shown. */
const mostHeld = 20;

type Refusal = { message: string; field?: string | undefined };

/** Result of a form on this page. `written`: the reply as typed. `openToo`: messages to unfold in addition to the newest. */
export type FormResult = {
  changeRefused?: Refusal;
  replyRefused?: Refusal;
  written?: TypedReply;
  isOvertaken?: boolean;
  openToo?: readonly string[];
};

/** Reads the conversation that the URL asks for. Throws Rejected not_found. */
export async function threadView(
  deps: ConsoleDependencies,
  context: PageContext,
  afterwards: FormResult = {},
): Promise<ThreadView> {
  const { id } = context.params as { id: string };
  const { workspaceId } = context.principal;
  const { query } = context;
  const [cursor, limit] = [query.get("cursor"), query.get("limit")];
  const [messages, found] = await Promise.all([
    // The route refuses threads that do not exist or that the reader may not see.
    context.ask("GET /v1/threads/:id/messages", {
      params: { id },
      query: { sort: "newest", limit: limit ?? pageSize, cursor },
    }),
    findThread(deps, workspaceId, id),
  ]);
  if (!found) throw new Rejected("not_found", "no such conversation");
  const { survivor } = found;
  const shown = messages.data.reverse();
  const isNewestPage = cursor === null;
  const [drafts, until, wishes, [identity], held, last, around, whose] = await Promise.all([
    context.ask("GET /v1/drafts", { query: { thread_id: survivor.id, limit: mostDrafts } }),
    isNewestPage ? null : timeOfNext(deps, workspaceId, shown.at(-1)),
    wishesOf(deps, context, { shown, isNewestPage, afterwards }),
    identityNames(deps.reads, workspaceId, [survivor.identity_id]),
    heldOfThread(deps.reads, workspaceId, { threadId: survivor.id, count: mostHeld }),
    lastMessagesOfThread(deps.reads, workspaceId, survivor.id),
    neighbouringThreads(deps.reads, workspaceId, survivor.id),
    whoseMail(
      deps.reads,
      workspaceId,
      shown.filter(isNotACustomers).map(({ id }) => id),
    ),
  ]);
  const span = { from: messages.next_cursor === null ? null : (shown[0]?.created_at ?? null), until };
  const path = `/threads/${id}`;
  const ways = pageLinksFrom(path, {
    query,
    next: messages.next_cursor,
    kept: new URLSearchParams(limit === null ? {} : { limit }),
  });
  const newest = newestOf({ held, last, identity, whose });
  return {
    thread: survivor === found.own ? presentThread(survivor) : presentMerged(found.own, survivor),
    identity,
    why: isNewestPage
      ? whyOf({ identity, newest, last, drafts: drafts.data, identityId: survivor.identity_id })
      : undefined,
    entries: timeline(
      {
        messages: messageViews(shown, wishes, whose),
        drafts: drafts.data,
        held,
      },
      span,
    ),
    ways,
    hasMoreDrafts: drafts.next_cursor !== null,
    neighbours: around,
    reply:
      isNewestPage && context.may("decide:drafts")
        ? await replyOf(deps, context, { last, newest, identity, afterwards })
        : null,
    mayChange: context.may("write:drafts"),
    refused: afterwards.changeRefused,
    path: context.request.method === "GET" ? context.path : path,
    addressFor: addressesOf(path, query),
  };
}

const isNotACustomers = ({ kind, origin }: WireMessage): boolean =>
  kind !== null && (kind !== "customer" || origin === "own_workspace");

/** Time (ISO) of the message after `message`. Drafts and held mail up to then belong to this page. Null if no message follows. */
async function timeOfNext(
  { reads }: ConsoleDependencies,
  workspaceId: string,
  message: WireMessage | undefined,
): Promise<string | null> {
  if (!message) return null;
  const { thread_id: threadId, created_at, id } = message;
  const next = await listMessages(reads, workspaceId, { threadId, limit: 1, offset: 0, after: [created_at, id] });
  return next.data[0]?.created_at.toISOString() ?? null;
}

const wishNames = ["open", "html", "whole"] as const;

const addressesOf =
  (path: string, query: URLSearchParams): ThreadView["addressFor"] =>
  (wish, messageId) => {
    const kept = [...query].filter(([name]) => ![...wishNames, "done"].includes(name));
    return `${path}?${new URLSearchParams([...kept, [wish, messageId]])}#message-${messageId}`;
  };

/** Returns which messages are unfolded: the newest, and those that the URL names. */
async function wishesOf(
  deps: ConsoleDependencies,
  { query, principal }: PageContext,
  { shown, isNewestPage, afterwards }: { shown: readonly WireMessage[]; isNewestPage: boolean; afterwards: FormResult },
): Promise<MessageViewOptions> {
  const newest = isNewestPage ? shown.at(-1)?.id : undefined;
  const open = [newest, query.get("open"), ...(afterwards.openToo ?? [])].filter((id) => typeof id === "string");
  const message = shown.find(({ id }) => id === query.get("html"));
  const body = message?.body_html ?? null;
  const sanitised = body === null ? null : await deps.costlyWork("sanitise", body, principal.workspaceId);
  const html = message === undefined ? null : { id: message.id, sanitised };
  return { open: new Set(open), html, whole: query.get("whole") };
}

type Last = Awaited<ReturnType<typeof lastMessagesOfThread>>;

/** The newest message since the last answer, held or not; an automatic one only if there is no other. */
function newestOf({
  held,
  last,
  identity,
  whose,
}: {
  held: readonly HeldRow[];
  last: Last;
  identity: IdentityName | undefined;
  whose: ReadonlyMap<string, WhoseMail>;
}): NewestMessage | null {
  const isOpen = (message: CameIn | undefined): message is CameIn =>
    message !== undefined && (last.answered_at === null || message.received_at > last.answered_at);
  const word = isOpen(last.word) ? last.word : isOpen(last.machine) ? last.machine : undefined;
  const [mark] = held;
  if (mark && (!last.word || mark.received_at >= last.word.received_at)) {
    const because =
      identity?.status === "disabled" ? "identity_disabled" : identity?.status === "active" ? "quota" : "unknown";
    return {
      messageId: mark.id,
      at: mark.received_at.toISOString(),
      kind: null,
      isBounce: false,
      isHandedOver: false,
      fromBlockedContact: false,
      held: { because },
    };
  }
  return (
    (word && {
      messageId: word.id,
      at: word.received_at.toISOString(),
      kind: word.kind,
      isBounce: word.classification === "bounce",
      isHandedOver: word.kind === "colleague" && whose.get(word.id)?.put_aside === "hand_over",
      fromBlockedContact: word.from_blocked_contact,
      held: null,
    }) ??
    null
  );
}

const whyOf = ({
  identity,
  identityId,
  newest,
  last,
  drafts,
}: {
  identity: IdentityName | undefined;
  identityId: string;
  newest: NewestMessage | null;
  last: Last;
  drafts: readonly WireDraft[];
}) =>
  whyUnanswered({
    identityId,
    identityStatus: identity?.status ?? "deleted",
    newestWord: newest,
    answeredAt: last.answered_at?.toISOString() ?? null,
    drafts,
  });

async function replyOf(
  deps: ConsoleDependencies,
  context: PageContext,
  {
    last,
    newest,
    identity,
    afterwards,
  }: { last: Last; newest: NewestMessage | null; identity: IdentityName | undefined; afterwards: FormResult },
): Promise<ReplyView> {
  // Messages from people take precedence over automatic ones.
  const answered = last.word ?? last.machine;
  return {
    threadId: context.params.id as string,
    preview:
      answered && (await replyPreview(deps, { workspaceId: context.principal.workspaceId, messageId: answered.id })),
    isHeld: newest?.held != null,
    canSend:
      identity?.status === "active"
        ? "yes"
        : identity?.status === "disabled"
          ? "identity_disabled"
          : "identity_deleted",
    written: afterwards.written ?? nothingWritten,
    isOvertaken: afterwards.isOvertaken === true,
    refused: afterwards.replyRefused,
    once: randomUUID(),
  };
}
