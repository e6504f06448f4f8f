import type { Dependencies } from "#src/commands/dependencies.ts";
import { undoSend } from "#src/commands/sends/queueSend.ts";
import { loadThread } from "#src/commands/threads/threads.ts";
import { Rejected } from "#streams/decider.ts";
import { idOf } from "#streams/event.ts";
import { causedBy, causeOfTimer, traced } from "./cause.ts";
import type { Process } from "./process.ts";

/** Longer than a claim is valid: by then its maker has queued the draft, or never will. */
const afterMs = 6_000;

/** A claim whose maker was cut off before the draft was queued under it is finished (a later try) or undone (a first one). */
export const recoverClaims = (deps: Dependencies): Process => ({
  name: "recoverClaims",
  categories: ["thread"],
  keyOf: (event) => (event.type === "SendClaimed" ? (event.data.draftId as string) : idOf(event.stream)),
  on: {
    SendClaimed: async (event, { timers }) => {
      const { draftId, attemptId, quotaStream, replaces } = event.data;
      const due = new Date(deps.clock.now().getTime() + afterMs);
      const threadId = idOf(event.stream);
      const payload = { ...traced(causedBy(event, "recoverClaims")), attemptId, quotaStream, replaces, threadId };
      await timers.set({ key: draftId, name: attemptId, dueAt: due, payload });
    },
  },
  onTimer: async (timer) => {
    const draftId = timer.key;
    const { attemptId, quotaStream, replaces, threadId } = timer.payload as Record<string, string>;
    const cause = causeOfTimer(timer.payload, "recoverClaims");
    const { state: draft } = await deps.drafts.load(draftId);
    if (draft.attemptId === attemptId) return;
    const thread = await loadThread(deps, threadId as string);
    if (thread.state.claims[draftId]?.attemptId !== attemptId) return;
    if (replaces && draft.status === "sending" && draft.attemptId === replaces) {
      const requeue = { type: "RequeueDraft", attemptId: attemptId as string, replaces, tries: draft.tries } as const;
      await deps.drafts.handle(draftId, requeue, cause).catch(ignoreFinal);
      return;
    }
    const reservation = { quotaStream: quotaStream as string, reservationId: attemptId as string };
    const attempt = { attemptId: attemptId as string, threadId: thread.threadId, ...reservation };
    await undoSend(deps, { draftId, attempt, because: "the send was interrupted" }, cause);
  },
});

function ignoreFinal(error: unknown): void {
  if (!(error instanceof Rejected)) throw error;
}
