import type { UndoWindow } from "#streams/draft/quorum.ts";
import type { Dependencies } from "../dependencies.ts";

/** Milliseconds in which a person can undo an approval before the mail is sent. */
const undoMs = 10_000;

/** Returns the undo window of an approval that is given now. */
export const undoWindow = ({ clock }: Pick<Dependencies, "clock">): UndoWindow => ({
  sendAfter: new Date(clock.now().getTime() + undoMs).toISOString(),
});
