import { entryEvents } from "#projections/auditTree/queries.ts";
import { draftsOfThread } from "#projections/drafts/queries.ts";
import { joinedThreads } from "#projections/threads/queries.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { threadStream } from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { draftHistory, readPages } from "../drafts/draftHistories.ts";

/** The events that an export has. `address`: in lower case. Times: ISO 8601, both inclusive. */
export type ExportScope = {
  about: { threadId: string } | { address: string } | null;
  from: string | null;
  to: string | null;
};

/** The part of a workspace's log that a signed head covers: `size` events, of which the last is at `upTo`. */
type Covered = { workspaceId: string; upTo: number; size: number };

/** The streams of an export, and the revisions of those that are not exported as a whole. */
type ExportedStreams = Map<string, "whole" | Set<number>>;

/**
 * The events of an export. `read`: reads them from the log, batch by batch; each call reads them again. `atMost`: there are not more; some may
 * be newer than the head, or outside the period.
 */
export type ExportedEvents = { read: () => AsyncIterable<Recorded[]>; atMost: number };

/** Finds the events of an export. They are in the order of the log, or those of each stream are together. */
export async function eventsInScope(deps: Dependencies, covered: Covered, scope: ExportScope): Promise<ExportedEvents> {
  const { about } = scope;
  if (about === null) return { read: () => within(workspaceLog(deps, covered), covered, scope), atMost: covered.size };
  const streams =
    "threadId" in about
      ? await streamsOfThread(deps, covered, about.threadId)
      : await streamsAbout(deps, covered, about.address);
  return { read: () => within(eventsOf(deps, streams), covered, scope), atMost: await numberOfEvents(deps, streams) };
}

async function* within(
  batches: AsyncIterable<Recorded[]>,
  { upTo }: Covered,
  { from, to }: ExportScope,
): AsyncGenerator<Recorded[]> {
  const [first, last] = [from ? Date.parse(from) : -Infinity, to ? Date.parse(to) : Infinity];
  for await (const events of batches) {
    yield events.filter(({ position, metadata }) => {
      const at = Date.parse(metadata.at);
      return position <= upTo && at >= first && at <= last;
    });
  }
}

/** Reads all events of a workspace, from its first entry to the head. */
async function* workspaceLog(
  { reads, store }: Dependencies,
  { workspaceId, upTo }: Covered,
): AsyncGenerator<Recorded[]> {
  const [first] = await entryEvents(reads, workspaceId, { from: 0, to: 1 });
  const over = new AbortController();
  try {
    for await (const batch of store.subscribe({ after: (first?.position ?? 1) - 1, signal: over.signal })) {
      yield batch.events.filter(({ metadata }) => metadata.workspaceId === workspaceId);
      if (batch.position >= upTo) return;
    }
  } finally {
    over.abort();
  }
}

async function* eventsOf(deps: Dependencies, streams: ExportedStreams): AsyncGenerator<Recorded[]> {
  for (const [stream, revisions] of streams)
    for await (const events of readPages(deps, stream))
      yield revisions === "whole" ? events : events.filter(({ revision }) => revisions.has(revision));
}

async function numberOfEvents({ store }: Dependencies, streams: ExportedStreams): Promise<number> {
  let count = 0;
  for (const [stream, revisions] of streams)
    count += revisions === "whole" ? ((await store.readLast(stream))?.revision ?? -1) + 1 : revisions.size;
  return count;
}

/** Returns the streams of a thread, of the threads merged into it, and of their drafts and hand-overs. */
async function streamsOfThread(
  deps: Dependencies,
  { workspaceId }: Covered,
  threadId: string,
): Promise<ExportedStreams> {
  const streams: ExportedStreams = new Map();
  for (const id of await joinedThreads(deps.reads, workspaceId, threadId)) streams.set(threadStream(id), "whole");
  for (const { id } of await draftsOfThread(deps.reads, workspaceId, threadId))
    for (const { stream } of await draftHistory(deps, id)) streams.set(stream, "whole");
  return streams;
}

/** Kinds of streams that are exported as a whole if one event of them is about the person. */
const wholeCategories = ["thread", "draft", "delivery", "contact"];

/**
 * Returns the streams about a person: those with an event that has the person's address, and the drafts and hand-overs of such threads. Of
 * streams about many, such as an identity's inbox, only the events with the address.
 */
async function streamsAbout(deps: Dependencies, covered: Covered, address: string): Promise<ExportedStreams> {
  const streams: ExportedStreams = new Map();
  const isTheirs = mentions(address);
  for await (const events of workspaceLog(deps, covered))
    for (const event of events) {
      const { stream, revision, data } = event;
      if (!isTheirs(event) && !streams.has(`thread-${data.threadId}`) && !streams.has(`draft-${data.draftId}`))
        continue;
      const known = streams.get(stream);
      if (wholeCategories.includes(categoryOf(stream))) streams.set(stream, "whole");
      else if (isTheirs(event)) streams.set(stream, known instanceof Set ? known.add(revision) : new Set([revision]));
    }
  return streams;
}

/** Returns a function that is true for events in which the address stands by itself, not as a part of a longer one. */
function mentions(address: string): (event: Recorded) => boolean {
  const literal = address.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const alone = new RegExp(`(?<![\\w.+%-])${literal}(?![\\w-]|\\.\\w)`, "i");
  return ({ data, metadata }) => alone.test(JSON.stringify([data, metadata.actor]));
}
