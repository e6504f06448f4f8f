import type { Static } from "typebox";
import { draftsOfThread, type ReadDraft } from "#projections/drafts/queries.ts";
import { listMessages, type MessageRow, newestMessages } from "#projections/messages/queries.ts";
import type { Reads } from "#projections/reads.ts";
import { listThreads, type ThreadRow, threadById } from "#projections/threads/queries.ts";
import { defaultHistoryDepth, threadAt } from "#src/commands/asOf/threadAt.ts";
import { updateThread } from "#src/commands/threads/updateThread.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { requireThen, timeAsked } from "./earlierStates.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { endOf, startOf } from "./framework/validation/days.ts";
import { presentDrafts } from "./present/drafts.ts";
import { presentMessages } from "./present/messages.ts";
import { presentMerged, presentThread } from "./present/threads.ts";
import { MessageList, MessageQuery } from "./schemas/messages.ts";
import { Thread, ThreadList, ThreadQuery, ThreadRead, ThreadStateQuery, UpdateThread } from "./schemas/threads.ts";
import { waitForSearch } from "./waitForSearch.ts";

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

/** A thread with its newest messages and its drafts; for a merged thread those of the thread it was merged into. */
type ThreadContent = { thread: FoundThread; messages: MessageRow[]; total: number; drafts: ReadDraft[] };

/** Reads a thread with its content, in one snapshot. */
async function threadWithContent(reads: Reads, workspaceId: string, id: string): Promise<ThreadContent | undefined> {
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

/** Returns a thread with its content at an earlier time; undefined if it was not shown then. */
async function threadThen(
  deps: HttpDependencies,
  { workspaceId, threadId, at }: { workspaceId: string; threadId: string; at: Date },
): Promise<ThreadContent | undefined> {
  const today = await findThread(deps, workspaceId, threadId);
  if (!today) return undefined;
  const then = await threadAt(deps, { workspaceId, threadId, survivorId: today.survivor.id, at });
  return then && { ...then, thread: { own: then.own, survivor: then.survivor } };
}

const presentContent = async ({ blobs }: HttpDependencies, { thread, messages, total, drafts }: ThreadContent) => ({
  ...present(thread),
  messages: await presentMessages(blobs, messages),
  messages_total: total,
  drafts: await presentDrafts(blobs, drafts),
});

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
        if (query.q !== undefined || query.contact !== undefined) await waitForSearch(deps);
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
        description:
          "As many messages as the identity's thread_history_depth says, oldest first; drafts newest first. With `at`: as it was then, a thread merged since with its own messages.",
        query: ThreadStateQuery,
        answers: ThreadRead,
        errors: ["insufficient_scope"],
      },
      async ({ workspaceId, params, query, principal }) => {
        const at = timeAsked(deps, query.at, principal);
        const content = at
          ? requireThen(await threadThen(deps, { workspaceId, threadId: params.id, at }), at)
          : await threadWithContent(deps.reads, workspaceId, params.id);
        return content && presentContent(deps, content);
      },
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
