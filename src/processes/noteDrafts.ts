import type { Dependencies } from "#src/commands/dependencies.ts";
import { noteDraft } from "#src/commands/threads/threads.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { DraftOutcome } from "#streams/thread/decider.ts";
import { causedBy } from "./cause.ts";
import type { Process } from "./process.ts";

/**
 * A thread's status follows its drafts. Commands note it themselves, so that it shows at once; this makes up for those that were cut
 * off in between. An older note changes nothing.
 */
export function noteDrafts(deps: Dependencies): Process {
  const note = (outcome: DraftOutcome) => async (event: Recorded) => {
    const draftId = idOf(event.stream);
    const { state } = await deps.drafts.load(idOf(event.stream));
    const { threadId } = state;
    await noteDraft(deps, { threadId, draftId, outcome, draftRevision: event.revision }, causedBy(event, "noteDrafts"));
  };
  return {
    name: "noteDrafts",
    categories: ["draft"],
    keyOf: (event) => idOf(event.stream),
    on: {
      DraftSubmitted: (event) =>
        note(event.data.autoApproved || event.data.approvedAtOnce ? "approved" : "pending")(event),
      DraftEdited: note("pending"),
      DraftReturnedToPending: note("pending"),
      DraftApproved: note("approved"),
      DraftRejected: note("rejected"),
      DraftQueued: note("sending"),
      DraftMarkedStale: note("stale"),
      DraftFailed: note("failed"),
    },
  };
}
