import type { Dependencies } from "#src/commands/dependencies.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import { isEnd, outcomeAfter } from "#streams/draft/outcome.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Process, ProcessContext } from "./process.ts";

/**
 * A thread's status follows its drafts. Commands note it themselves, so that it shows at once; this makes up for those that were cut
 * off in between. An older note changes nothing.
 */
export function noteDrafts(deps: Dependencies): Process {
  async function note(event: Recorded<DraftEvent>, { cause }: ProcessContext): Promise<void> {
    const outcome = outcomeAfter(event);
    if (outcome === null) return;
    const draftId = idOf(event.stream);
    const { threadId, status } = (await deps.drafts.load(draftId)).state;
    const hasEnded = isEnd(status);
    await noteDraft(deps, { threadId, draftId, outcome, draftRevision: event.revision, hasEnded }, cause);
  }
  return {
    name: "noteDrafts",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    answered: {
      // What a failure means is noted here alone.
      asks: ({ stream, revision, type }) => (type === "DraftFailed" ? null : noteOf(idOf(stream), revision)),
      answers: ({ type, data }) => (type === "DraftNoted" ? noteOf(data.draftId, data.revision) : null),
    },
    on: {
      DraftSubmitted: note,
      DraftEdited: note,
      DraftReturnedToPending: note,
      DraftApproved: note,
      DraftRejected: note,
      DraftQueued: note,
      DraftMarkedStale: note,
      DraftFailed: note,
    },
  };
}

const noteOf = (draftId: string, draftRevision: number): string => `${draftId} ${draftRevision}`;
