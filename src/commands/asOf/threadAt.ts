import { answersElsewhere, draftIdsOfThread, type ReadDraft } from "#projections/drafts/queries.ts";
import { type ConversationEvent, type ThreadThen, threadAfter } from "#projections/threads/replay.ts";
import { fold } from "#streams/decider.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import { draftStream } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import { activeMember, type Members, memberDecider } from "#streams/member/decider.ts";
import { type MemberEvent, memberStream } from "#streams/member/events.ts";
import { type ThreadEvent, threadStream } from "#streams/thread/events.ts";
import { approverRoles } from "../approvals/voters.ts";
import type { Dependencies } from "../dependencies.ts";
import { eventsUntil, pagesUntil, readEach } from "./eventsUntil.ts";
import { identityWithId } from "./settingsAt.ts";

type Ports = Pick<Dependencies, "store" | "reads">;

/** Messages that a thread shows if its identity is deleted; otherwise the identity sets the number. */
export const defaultHistoryDepth = 10;
/** Messages that any identity shows, at most. */
const deepestHistory = 20;

/** A thread at an earlier time, with the messages that its identity showed then. */
export type ShownThreadThen = Omit<ThreadThen, "drafts"> & { total: number; drafts: ReadDraft[] };

/**
 * Returns a thread as it was at a time, from its stream and those of the threads, drafts and deliveries that belong to it; undefined if it
 * was not shown yet. `survivorId`: the thread that has its drafts today.
 */
export async function threadAt(
  deps: Ports,
  { workspaceId, threadId, survivorId, at }: { workspaceId: string; threadId: string; survivorId: string; at: Date },
): Promise<ShownThreadThen | undefined> {
  const [ofThreads, ofDrafts] = await Promise.all([
    eventsOfThreads(deps, threadId, at),
    draftIdsOfThread(deps.reads, workspaceId, { threadId: survivorId, by: at }).then((ids) =>
      readEach(ids, (id) => eventsUntil<ConversationEvent>(deps.store, draftStream(id), at)),
    ),
  ]);
  const events = [...ofThreads, ...ofDrafts.flat()];
  const ofDeliveries = await readEach(attemptsIn(events), (id) =>
    eventsUntil<ConversationEvent>(deps.store, deliveryStream(id), at),
  );
  const inOrder = [...events, ...ofDeliveries.flat()].sort((a, b) => a.position - b.position);
  const then = threadAfter(inOrder, threadId);
  return then?.own.workspace_id === workspaceId ? withIdentities(deps, then, at) : undefined;
}

/** Adds what depends on the settings of identities at that time. */
async function withIdentities(deps: Ports, then: ThreadThen, at: Date): Promise<ShownThreadThen> {
  const ids = [...new Set([then.survivor, ...then.drafts].map(({ identity_id }) => identity_id))];
  const draftIds = then.drafts.map(({ id }) => id);
  const [found, members, elsewhere] = await Promise.all([
    readEach(ids, async (id) => [id, await identityWithId(deps, id, at)] as const),
    membersAt(deps, then, at),
    draftIds.length === 0 ? new Map() : answersElsewhere(deps.reads, then.own.workspace_id, { draftIds, by: at }),
  ]);
  const identities = new Map(found);
  const own = identities.get(then.survivor.identity_id);
  const depth = own?.deleted_at === null ? own.thread_history_depth : defaultHistoryDepth;
  return {
    ...then,
    messages: then.messages.slice(-depth),
    total: then.messages.length,
    drafts: then.drafts.map((draft) => ({
      ...withAnswer(draft, elsewhere.get(draft.id)),
      approvals_required_now: identities.get(draft.identity_id)?.approvals_required ?? 1,
      assignee: isAssigned(draft, members) ? draft.assigned_to : null,
    })),
  };
}

type DraftThen = ThreadThen["drafts"][number];

/** Adds the answer of another identity if none was given on the draft's own thread. */
function withAnswer(draft: DraftThen, elsewhere: DraftThen["answered_meanwhile"] | undefined): DraftThen {
  if (draft.answered_meanwhile !== null || !elsewhere) return draft;
  const judged = draft.status === "pending" ? ["answered_meanwhile" as const] : [];
  return { ...draft, answered_meanwhile: elsewhere, judged_warnings: [...judged, ...draft.judged_warnings] };
}

/** Reads who was a member then, if a draft is assigned to one. */
async function membersAt({ store }: Ports, { own, drafts }: ThreadThen, at: Date): Promise<Members> {
  if (drafts.every(({ assigned_to }) => assigned_to === null)) return memberDecider.initial;
  return fold(memberDecider, await eventsUntil<MemberEvent>(store, memberStream(own.workspace_id), at));
}

/** True if a draft waits for a decision by the member it is assigned to, who may decide. */
function isAssigned({ status, assigned_to }: Pick<ReadDraft, "status" | "assigned_to">, members: Members): boolean {
  const member = assigned_to && activeMember(members, assigned_to.user_id);
  return status === "pending" && !!member && approverRoles.includes(member.role);
}

/** Reads a thread, and all threads that were merged into it, or it into them, by then. */
async function eventsOfThreads(deps: Ports, threadId: string, at: Date): Promise<Recorded<ConversationEvent>[]> {
  const all: Recorded<ConversationEvent>[] = [];
  const threadIds = new Set([threadId]);
  // Iterating a Set also visits elements added during the loop.
  for (const id of threadIds) {
    const events = await eventsOfThread(deps, id, at);
    for (const event of events) {
      if (event.type === "ThreadFrozen") threadIds.add(event.data.survivorId);
      if (event.type === "ThreadAbsorbed") threadIds.add(event.data.absorbedId);
    }
    all.push(...events);
  }
  return all;
}

/** Reads a thread up to a time. Only messages that may be shown keep their bodies: a long thread has more text than fits into memory. */
async function eventsOfThread({ store }: Ports, threadId: string, at: Date): Promise<Recorded<ThreadEvent>[]> {
  let all: Recorded<ThreadEvent>[] = [];
  let newest: Received[] = [];
  for await (const { events } of pagesUntil<ThreadEvent>(store, threadStream(threadId), { at })) {
    const received = [...newest, ...events.filter((event) => event.type === "MessageReceived")].sort(byArrival);
    newest = received.splice(-deepestHistory);
    const older: ReadonlySet<Recorded> = new Set(received);
    all = [...all, ...events].map((event) => (older.has(event) ? withoutBody(event as Received) : event));
  }
  return all;
}

type Received = Recorded<Extract<ThreadEvent, { type: "MessageReceived" }>>;

const byArrival = ({ data: a }: Received, { data: b }: Received): number =>
  Date.parse(a.receivedAt) - Date.parse(b.receivedAt) || (a.messageId < b.messageId ? -1 : 1);

const withoutBody = (event: Received): Received => ({
  ...event,
  data: { ...event.data, body: null, bodyBlob: null, searchText: null },
});

/** Returns the ids of the attempts to deliver that these events name. */
const attemptsIn = (events: readonly Recorded[]): string[] => [
  ...new Set(events.flatMap(({ data: { attemptId } }) => (typeof attemptId === "string" ? [attemptId] : []))),
];
