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

/** A stream from its start, a page at a time. */
export async function* pagesOf<E extends Event = Event>(
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
  for await (const events of pagesOf<E>(deps, stream)) all.push(...events);
  return all;
}

/** Everything that was recorded of a draft itself, oldest first. */
export const draftEvents = (deps: Dependencies, draftId: string): Promise<Recorded<DraftEvent>[]> =>
  readAll<DraftEvent>(deps, draftStream(draftId));

/** A draft as it was right after one of its own events, and everything that was recorded of it until then. */
export async function draftUntil(
  deps: Dependencies,
  { stream, revision }: Pick<Recorded, "stream" | "revision">,
): Promise<{ draft: Draft; history: Recorded<DraftEvent>[] }> {
  const history = await readEvents<DraftEvent>(deps.store, stream, { count: revision + 1 });
  return { draft: fold(draftDecider, history), history };
}

/**
 * A draft's whole life, oldest first: its own events, the claims to send it, which are on its thread, and the outcome of each attempt.
 */
export async function draftHistory(deps: Dependencies, draftId: string): Promise<Recorded[]> {
  const own: Recorded[] = await draftEvents(deps, draftId);
  const claims = await claimsOf(deps, draftId, own);
  const attempts = idsIn([...own, ...claims], "attemptId");
  const deliveries = await Promise.all(attempts.map((attemptId) => readAll(deps, deliveryStream(attemptId))));
  return [...own, ...claims, ...deliveries.flat()].sort((a, b) => a.position - b.position);
}

/** The claims to send a draft, on every thread it was on: the ones it names, and those they were merged into. */
async function claimsOf(deps: Dependencies, draftId: string, own: readonly Recorded[]): Promise<Recorded[]> {
  const claims: Recorded[] = [];
  const threadIds = new Set(idsIn(own, "threadId"));
  // A set takes in what is added while it is walked: a merge may follow a merge.
  for (const threadId of threadIds) {
    const { state } = await deps.threads.load(threadId);
    if (state.mergedInto !== null) threadIds.add(state.mergedInto);
    for await (const page of pagesOf(deps, threadStream(threadId))) {
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

/** A draft as it was, and when that state ended (null: it is today's). */
export type EarlierDraft = { row: DraftRow; until: string | null };

/** A draft as it was at a moment; undefined if there was none yet. */
export const draftAt = (deps: Dependencies, draftId: string, at: Date): Promise<EarlierDraft | undefined> =>
  replayWhile(deps, draftId, (event) => Date.parse(event.metadata.at) <= at.getTime());

/** A draft as it last was with this version; undefined if it has no such version. */
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

export type VersionContent = { content: DraftContent; contentSha256: string; rationale: string | null };

/** What a version says, exactly as it was hashed; undefined if the draft has no such version. */
export async function versionContent(
  deps: Dependencies,
  draftId: string,
  version: number,
): Promise<VersionContent | undefined> {
  const earlier = await draftAtVersion(deps, draftId, version);
  if (!earlier) return undefined;
  const { content, content_blob: contentBlob, content_sha256: contentSha256, rationale } = earlier.row;
  return { content: await loadContent(deps.blobs, { content, contentBlob }), contentSha256, rationale };
}

/** The frozen MIME of a draft's newest hand-over: its hash in the blob store; undefined if none was begun. */
export async function handedOverMime(deps: Dependencies, draftId: string): Promise<string | undefined> {
  const history = await draftHistory(deps, draftId);
  const started = history.findLast((event) => event.type === "DeliveryStarted");
  return started?.data.mimeSha256 as string | undefined;
}
