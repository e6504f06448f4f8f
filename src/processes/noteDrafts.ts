import type { Dependencies } from "#src/commands/dependencies.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type DraftOutcome, isEnd, outcomeAfter } from "#streams/draft/outcome.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { LaterTimer, Process, ProcessContext } from "./process.ts";

/** Milliseconds after which a draft's change is noted on its thread here: by then its command has noted it, unless it was cut off. */
const cutOffAfterMs = 5_000;

/** The note on the thread about a draft, and the draft's revision that it is about. */
type Note = { outcome: DraftOutcome; draftRevision: number };

/**
 * Keeps a thread's status in step with its drafts. Commands note changes themselves, so that they show at once; this process covers
 * commands that were cut off in between. An older note changes nothing.
 */
export function noteDrafts(deps: Dependencies): Process {
  async function note(draftId: string, { outcome, draftRevision }: Note, { cause }: ProcessContext): Promise<void> {
    const { threadId, status } = (await deps.drafts.load(draftId)).state;
    const isDecided = status === "approved" || status === "sending";
    const note = { threadId, draftId, draftRevision, hasEnded: isEnd(status) };
    await noteDraft(deps, { ...note, outcome: isDecided ? "approved" : outcome }, cause);
  }
  const byCommand = (event: Recorded<DraftEvent>): LaterTimer => ({
    name: "note",
    inMs: cutOffAfterMs,
    payload: { outcome: outcomeAfter(event), draftRevision: event.revision },
  });
  return {
    name: "noteDrafts",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    later: {
      DraftSubmitted: byCommand,
      DraftEdited: byCommand,
      DraftReturnedToPending: byCommand,
      DraftRejected: byCommand,
      DraftMarkedStale: byCommand,
    },
    on: {
      // A failure is noted by this process alone.
      DraftFailed: ({ stream, revision }: Recorded, context) =>
        note(idOf(stream), { outcome: "failed", draftRevision: revision }, context),
    },
    onTimer: ({ key, payload }, context) => note(key, payload as Note, context),
  };
}
