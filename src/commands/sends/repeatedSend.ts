import { readEvents } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { draftDecider } from "#streams/draft/decider.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { type DraftEvent, draftStream } from "#streams/draft/events.ts";
import { requireDecidedVersion } from "#streams/draft/sending.ts";
import { staleDraft } from "#streams/draft/staleness.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, Handled } from "../handle.ts";
import { loadThread } from "../threads/threads.ts";

/** Result of a queued send. `queuedAt`: ISO 8601. */
export type QueuedSend = Handled<Draft> & { threadId: string; attemptId: string; queuedAt: string };

/** Conditions that an API key states with its send. */
export type SendIntent = {
  /** Version that the key named by If-Match. */
  ifVersion?: number;
  /** True if the key wrote the mail by the same call. Its approval then covers the mail with whatever signature the identity has. */
  wroteIt?: true;
};

/** Returns true if the key's send also approves a version that the service made. */
export const decidesOnChange = ({ ifVersion, wroteIt }: SendIntent): boolean =>
  ifVersion !== undefined || wroteIt === true;

/** Throws Rejected version_mismatch if the send names a version other than the newest. */
export function requireNamedVersion({ version }: Pick<Draft, "version">, { ifVersion }: SendIntent): void {
  if (ifVersion === undefined || ifVersion === version) return;
  throw new Rejected("version_mismatch", `this draft changed: review version ${version} first`, { version });
}

/**
 * Reads from the draft's stream how an earlier run of the same request ended. Returns the result if that run queued the draft, throws the
 * recorded refusal if it was refused, and returns undefined if it did not end. Throws Rejected stale_draft, content_changed,
 * version_mismatch.
 */
export async function outcomeOfFirstRun(
  deps: Dependencies,
  { draftId, intent = {} }: { draftId: string; intent?: SendIntent },
  { operation }: Cause,
): Promise<QueuedSend | undefined> {
  const stream = draftStream(draftId);
  const events = await readEvents<DraftEvent>(deps.store, stream);
  let draft = draftDecider.initial;
  for (const event of events) {
    draft = draftDecider.evolve(draft, event);
    if (operation === undefined || !event.metadata.operation?.startsWith(`${operation}/`)) continue;
    if (event.type === "DraftQueued") {
      const loaded = await deps.drafts.load(draftId);
      const { threadId } = await loadThread(deps, loaded.state.threadId);
      const { attemptId } = event.data;
      return { ...loaded, changed: true, threadId, attemptId, queuedAt: event.metadata.at };
    }
    if (event.type === "DraftMarkedStale") throw staleDraft(event.data.newMessageId);
    if (event.type === "DraftEdited") {
      requireNamedVersion(draft, intent);
      requireDecidedVersion(draft, decidesOnChange(intent));
    }
  }
  return undefined;
}
