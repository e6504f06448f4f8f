import { applyToDraft, type DraftRow } from "#projections/drafts/queries.ts";
import { readEvents } from "#src/eventStore/eventStore.ts";
import { fold } from "#streams/decider.ts";
import { deliveryStream } from "#streams/delivery/events.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import type { Event, Recorded } from "#streams/event.ts";
import { threadStream } from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { loadContent } from "./draftContents.ts";

const pageSize = 500;

/** Reads a stream from its start, one page at a time. */
export async function* readPages<E extends Event = Event>(
  deps: Dependencies,
  stream: string,
): AsyncIterable<Recorded<E>[]> {
  for (let from = 0; ; from += pageSize) {
    const events = await readEvents<E>(deps.store, stream, { from, count: pageSize });
    yield events;
    if (events.length < pageSize) return;
  }
}

async function readAll<E extends Event = Event>(deps: Dependencies, stream: string): Promise<Recorded<E>[]> {
  const all: Recorded<E>[] = [];
  for await (const events of readPages<E>(deps, stream)) all.push(...events);
  return all;
}

/** Returns a draft's own events, oldest first. */
export const draftEvents = (deps: Dependencies, draftId: string): Promise<Recorded<DraftEvent>[]> =>
  readAll<DraftEvent>(deps, draftStream(draftId));

/** Returns the thread on which a draft was submitted. It may have been merged into another one since. */
export async function threadOfDraft(deps: Dependencies, draftId: string): Promise<string> {
  const [first] = await readEvents<DraftEvent>(deps.store, draftStream(draftId), { count: 1 });
  if (first?.type !== "DraftSubmitted") throw new Error(`draft ${draftId} does not begin with its submission`);
  return first.data.threadId;
}

/** Returns a draft's state right after one of its events, and its events up to and including that event. */
export async function draftAfterEvent(
  deps: Dependencies,
  { stream, revision }: Pick<Recorded, "stream" | "revision">,
): Promise<{ draft: Draft; history: Recorded<DraftEvent>[] }> {
  const history = await readEvents<DraftEvent>(deps.store, stream, { count: revision + 1 });
  return { draft: fold(draftDecider, history), history };
}

/**
 * Returns a draft's complete history, oldest first: its own events, the claims of its sends from the streams of its threads, and the events
 * of each delivery attempt.
 */
export async function draftHistory(deps: Dependencies, draftId: string): Promise<Recorded[]> {
  const own: Recorded[] = await draftEvents(deps, draftId);
  const claims = await claimsOf(deps, draftId, own);
  const attempts = idsIn([...own, ...claims], "attemptId");
  const deliveries = await Promise.all(attempts.map((attemptId) => readAll(deps, deliveryStream(attemptId))));
  return [...own, ...claims, ...deliveries.flat()].sort((a, b) => a.position - b.position);
}

/**
 * Returns the claims to send a draft, from all threads that the draft's events name and from those into which these threads were merged.
 */
async function claimsOf(deps: Dependencies, draftId: string, own: readonly Recorded[]): Promise<Recorded[]> {
  const claims: Recorded[] = [];
  const threadIds = new Set(idsIn(own, "threadId"));
  // Iterating a Set also visits elements added during the loop, so a chain of merges is followed to its end.
  for (const threadId of threadIds) {
    const { state } = await deps.threads.load(threadId);
    if (state.mergedInto !== null) threadIds.add(state.mergedInto);
    for await (const page of readPages(deps, threadStream(threadId))) {
      const isItsClaim = ({ type, data }: Recorded) =>
        (type === "SendClaimed" || type === "SendClaimReleased") && data.draftId === draftId;
      claims.push(...page.filter(isItsClaim));
    }
  }
  return claims;
}

const idsIn = (events: readonly Recorded[], field: string): string[] => [
  ...new Set(events.map(({ data }) => data[field]).filter((id) => typeof id === "string")),
];

/** A draft's state at an earlier time. `until`: when that state ended; null if it is still current. */
export type EarlierDraft = { row: DraftRow; until: string | null };

/** Returns the last state of a draft with this version; undefined if it has no such version. */
export async function draftAtVersion(
  deps: Dependencies,
  draftId: string,
  version: number,
): Promise<EarlierDraft | undefined> {
  const state = await replayWhile(
    deps,
    draftId,
    (event) => event.type !== "DraftEdited" || event.data.version <= version,
  );
  return state?.row.version === version ? state : undefined;
}

async function replayWhile(
  deps: Dependencies,
  draftId: string,
  goesOn: (event: Recorded<DraftEvent>) => boolean,
): Promise<EarlierDraft | undefined> {
  let row: DraftRow | undefined;
  for (const event of await draftEvents(deps, draftId)) {
    if (!goesOn(event)) return row && { row, until: event.metadata.at };
    row = applyToDraft(row, event);
  }
  return row && { row, until: null };
}

export type EarlierContent = { content: DraftContent; contentSha256: string; rationale: string | null };

/** Returns a version's content exactly as it was hashed; undefined if the draft has no such version. */
export async function versionContent(
  deps: Dependencies,
  draftId: string,
  version: number,
): Promise<EarlierContent | undefined> {
  const earlier = await draftAtVersion(deps, draftId, version);
  if (!earlier) return undefined;
  const { content, content_blob: contentBlob, content_sha256: contentSha256, rationale } = earlier.row;
  return { content: await loadContent(deps.blobs, { content, contentBlob }), contentSha256, rationale };
}

/** Returns the blob hash of the stored MIME of a draft's newest hand-over; undefined if none was begun. */
export async function handedOverMime(deps: Dependencies, draftId: string): Promise<string | undefined> {
  const history = await draftHistory(deps, draftId);
  const started = history.findLast((event) => event.type === "DeliveryStarted");
  return started?.data.mimeSha256 as string | undefined;
}
