import type { Static } from "typebox";
import { draftsOfThread } from "#projections/drafts/queries.ts";
import { listMessages, newestMessages } from "#projections/messages/queries.ts";
import type { Reads } from "#projections/reads.ts";
import { listThreads, type ThreadRow, threadById } from "#projections/threads/queries.ts";
import { updateThread } from "#src/commands/threads/updateThread.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { presentDrafts } from "./present/drafts.ts";
import { presentMessages } from "./present/messages.ts";
import { presentMerged, presentThread } from "./present/threads.ts";
import { MessageList, MessageQuery } from "./schemas/messages.ts";
import { Thread, ThreadList, ThreadQuery, ThreadRead, UpdateThread } from "./schemas/threads.ts";

/** The requested thread, and the one that has its content: itself, or the thread that it was merged into. */
export type FoundThread = { own: ThreadRow; survivor: ThreadRow };

export async function findThread(
  { reads }: { reads: Reads },
  workspaceId: string,
  id: string,
): Promise<FoundThread | undefined> {
  const own = await threadById(reads, workspaceId, id);
  if (!own || own.merged_into === null) return own && { own, survivor: own };
  const survivor = await threadById(reads, workspaceId, own.merged_into);
  return { own, survivor: survivor ?? own };
}

const present = ({ own, survivor }: FoundThread) =>
  own.merged_into === null ? presentThread(own) : presentMerged(own, survivor);

/** Messages that an agent reads of a thread whose identity is deleted; otherwise the identity sets the number. */
const defaultHistoryDepth = 10;

/** A thread with its newest messages and drafts, read in one snapshot. For a merged thread: those of the thread it was merged into. */
async function threadWithContent(reads: Reads, workspaceId: string, id: string) {
  for (let threadId = id; ; ) {
    const [own, content, { messages, total }, drafts] = await reads.snapshot(workspaceId, (snapshot) =>
      Promise.all([
        threadById(snapshot, workspaceId, id),
        threadId === id ? undefined : threadById(snapshot, workspaceId, threadId),
        newestMessages(snapshot, workspaceId, { threadId, otherwise: defaultHistoryDepth }),
        draftsOfThread(snapshot, workspaceId, threadId),
      ]),
    );
    if (!own) return undefined;
    if ((own.merged_into ?? id) === threadId)
      return { thread: { own, survivor: content ?? own }, messages, total, drafts };
    threadId = own.merged_into ?? id;
  }
}

export const threadRoutes = (deps: HttpDependencies) => {
  const load = ({ workspaceId, params }: { workspaceId: string; params: { id: string } }) =>
    findThread(deps, workspaceId, params.id);
  return [
    listRoute(
      "GET /v1/threads",
      {
        scope: "read:threads",
        limit: "read",
        summary: "List threads",
        description: "Newest message first. A merged thread is listed as the thread that it was merged into.",
        query: ThreadQuery,
        answers: ThreadList,
        cursors: deps.cursors,
      },
      async ({ workspaceId, query }) => {
        if (query.q !== undefined || query.contact !== undefined) deps.requireReadable(["search"]);
        const threads = await listThreads(deps.reads, workspaceId, filterOf(query));
        return { ...threads, data: threads.data.map(presentThread) };
      },
    ),
    route(
      "GET /v1/threads/:id",
      {
        scope: "read:threads",
        limit: "read",
        summary: "Read a thread with its newest messages and its drafts",
        description: "As many messages as the identity's thread_history_depth says, oldest first; drafts newest first.",
        answers: ThreadRead,
        load: ({ workspaceId, params }) => threadWithContent(deps.reads, workspaceId, params.id),
      },
      async ({ loaded: { thread, messages, total, drafts } }) => ({
        ...present(thread),
        messages: await presentMessages(deps.blobs, messages),
        messages_total: total,
        drafts: await presentDrafts(deps.blobs, drafts),
      }),
    ),
    route(
      "PATCH /v1/threads/:id",
      {
        scope: "write:drafts",
        limit: "write",
        summary: "Set a thread's status, priority or review flag",
        body: UpdateThread,
        answers: Thread,
        load,
      },
      async ({ workspaceId, params, body, cause }) => {
        const { needs_review: needsReview, ...rest } = body;
        const changes = { ...rest, needsReview };
        const { position } = await updateThread(deps, { workspaceId, threadId: params.id, changes }, cause);
        await deps.readAfter(position, params.id);
        return present((await findThread(deps, workspaceId, params.id))!);
      },
    ),
    listRoute(
      "GET /v1/threads/:id/messages",
      {
        scope: "read:threads",
        limit: "read",
        summary: "List all messages of a thread",
        description: "Oldest first, or newest first with sort=newest.",
        query: MessageQuery,
        answers: MessageList,
        cursors: deps.cursors,
        load,
      },
      async ({ workspaceId, params, loaded, query }) => {
        // A merge after the look-up may have moved the messages.
        const messages = await deps.reads.snapshot(workspaceId, async (reads) => {
          const { survivor } = (await findThread({ reads }, workspaceId, params.id)) ?? loaded;
          return listMessages(reads, workspaceId, { threadId: survivor.id, ...query });
        });
        return { ...messages, data: await presentMessages(deps.blobs, messages.data) };
      },
    ),
  ];
};

function filterOf({ from_date, to_date, ...filter }: Static<typeof ThreadQuery>) {
  return {
    ...filter,
    ...(from_date === undefined ? {} : { from: startOf(from_date) }),
    ...(to_date === undefined ? {} : { to: endOf(to_date) }),
  };
}

/** A date without a time means the whole day, in UTC. */
const isDay = (text: string): boolean => !text.includes("T");
const startOf = (text: string): Date => new Date(isDay(text) ? `${text}T00:00:00.000Z` : text);
const endOf = (text: string): Date => new Date(isDay(text) ? `${text}T23:59:59.999Z` : text);
