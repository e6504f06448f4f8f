import type { Dependencies } from "#src/commands/dependencies.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type DraftOutcome, isEnd, outcomeAfter } from "#streams/draft/outcome.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { LaterTimer, Process, ProcessContext } from "./process.ts";

/** Milliseconds after which the command that changed the draft has noted it, unless it was cut off. */
const cutOffAfterMs = 5_000;

/** Which event of a draft a note is about, and what the thread has to know of it. */
type Note = { outcome: DraftOutcome; draftRevision: number };

/**
 * A thread's status follows its drafts. Commands note it themselves, so that it shows at once; this makes up for those that were cut
 * off in between. An older note changes nothing.
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
      // The meaning of a failure is noted here alone.
      DraftFailed: ({ stream, revision }: Recorded, context) =>
        note(idOf(stream), { outcome: "failed", draftRevision: revision }, context),
    },
    onTimer: ({ key, payload }, context) => note(key, payload as Note, context),
  };
}
