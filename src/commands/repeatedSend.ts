import { Rejected } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import type { Dependencies } from "./dependencies.ts";
import type { Cause, Handled } from "./handle.ts";
import { loadThread } from "./threads.ts";

/** `queuedAt`: ISO 8601. */
export type Queued = Handled<Draft> & { threadId: string; attemptId: string; queuedAt: string };

/**
 * How an earlier run of this very send ended, as the draft's stream tells: queued, or refused in a way that was recorded. Undefined where it
 * came to no end. Throws Rejected stale_draft, content_changed.
 */
export async function outcomeOfFirst(
  deps: Dependencies,
  draftId: string,
  { operation }: Cause,
): Promise<Queued | undefined> {
  const stream = draftStream(draftId);
  const events = (await deps.store.read(stream)) as unknown as Recorded<DraftEvent>[];
  for (const event of events) {
    if (operation === undefined || !event.metadata.operation?.startsWith(`${operation}/`)) continue;
    if (event.type === "DraftQueued") {
      const loaded = await deps.load(draftDecider, stream);
      const { threadId } = await loadThread(deps, loaded.state.threadId);
      const { attemptId } = event.data;
      return { ...loaded, changed: true, threadId, attemptId, queuedAt: event.metadata.at };
    }
    if (event.type === "DraftMarkedStale") throw staleDraft(event.data.newMessageId);
    if (event.type === "DraftEdited") throw contentChanged();
  }
  return undefined;
}

const staleDraft = (newMessageId: string): Rejected =>
  new Rejected("stale_draft", "a newer message arrived on this thread: read it and submit a new draft", {
    new_message_id: newMessageId,
  });

export const contentChanged = (): Rejected =>
  new Rejected("content_changed", "the identity changed since this draft was shown: approve the new version");
