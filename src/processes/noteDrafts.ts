import type { Dependencies } from "#src/commands/dependencies.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { type DraftOutcome, isEnd, outcomeAfter } from "#streams/draft/outcome.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { LaterTimer, Process, ProcessContext } from "./process.ts";

/**
 * Milliseconds after which this process notes a draft's change on its thread. By then the command that changed the draft has noted the
 * change, unless it was interrupted.
 */
const cutOffAfterMs = 5_000;

/** A note on the thread about a draft, and the draft's revision that the note is about. */
type Note = { outcome: DraftOutcome; draftRevision: number };

/**
 * Keeps a thread's status up to date with its drafts. Commands note their changes themselves, so that these show at once; this process
 * handles commands that were interrupted before the note. An older note changes nothing.
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
      // No command notes a failure, so this process notes it at once.
      DraftFailed: ({ stream, revision }: Recorded, context) =>
        note(idOf(stream), { outcome: "failed", draftRevision: revision }, context),
    },
    onTimer: ({ key, payload }, context) => note(key, payload as Note, context),
  };
}
