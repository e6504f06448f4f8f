import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { DraftOutcome } from "#streams/draft/outcome.ts";
import { entriesOf } from "#streams/idMap.ts";
import { splitForAbsorption } from "#streams/thread/absorption.ts";
import type { ThreadCommand } from "#streams/thread/decider.ts";
import { sendClaimOf } from "#streams/thread/sending.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, Handled } from "../handle.ts";
import { hasAbsorbed, knownSurvivor, type Survivor, survivorOf } from "./merges.ts";

/** Sends a command to a thread, or to the thread into which it was merged. Returns the id of the thread that handled the command. */
export async function commandThread(
  deps: Dependencies,
  { threadId, command }: { threadId: string; command: ThreadCommand },
  cause: Cause,
): Promise<Handled<Thread> & { threadId: string }> {
  let id = knownSurvivor(deps, threadId);
  for (;;) {
    try {
      return { ...(await commandExactThread(deps, { threadId: id, command }, cause)), threadId: id };
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== "thread_merged") throw error;
      // The surviving thread may not have absorbed all data yet. Complete that first, so that the command is judged with all of it.
      id = (await loadWholeThread(deps, id, cause)).threadId;
    }
  }
}

/** Sends a command to exactly this thread. If the command must wait for an interrupted merge, completes that merge first. */
export async function commandExactThread(
  deps: Dependencies,
  { threadId, command }: { threadId: string; command: ThreadCommand },
  cause: Cause,
): Promise<Handled<Thread>> {
  for (;;) {
    try {
      return await deps.threads.handle(threadId, command, cause);
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== "merge_under_way") throw error;
      await absorbThread(deps, error.details.absorbedId as string, cause);
    }
  }
}

/** Maximum number of tries to complete a merge: an instance of another version may divide the data differently and restart the merge. */
const maxTellings = 3;

/**
 * Transfers a frozen thread's data to the thread into which it was merged, part by part. If it runs twice, concurrently or after a crash,
 * it transfers only what is missing. Throws Unavailable.
 */
export async function absorbThread(deps: Dependencies, absorbedId: string, cause: Cause): Promise<void> {
  const { state: frozen } = await deps.threads.load(absorbedId);
  const { mergedInto: survivorId } = frozen;
  if (survivorId === null) throw new Error(`thread ${absorbedId} was merged into no other`);
  const parts = splitForAbsorption(absorbedId, frozen);
  for (let telling = 0; telling < maxTellings; telling++) {
    for (const part of parts) {
      const { state: survivor } = await deps.threads.handle(survivorId, { type: "AbsorbThread", ...part }, cause);
      // If the survivor was itself merged, it has absorbed everything before that.
      if (hasAbsorbed(survivor, absorbedId) || survivor.mergedInto !== null) return;
    }
  }
  throw new Unavailable("two threads are still being merged: retry shortly");
}

/** Returns the present thread of a thread id: the thread itself, or the thread into which it was merged. */
export const loadThread = (deps: Dependencies, threadId: string): Promise<Survivor> => survivorOf(deps, threadId);

/** Like loadThread, but first completes unfinished merges, so that the returned thread has all data of the threads merged into it. */
export async function loadWholeThread(deps: Dependencies, threadId: string, cause: Cause): Promise<Survivor> {
  for (;;) {
    const survivor = await survivorOf(deps, threadId);
    const { state, via } = survivor;
    const [unfinished] = Object.keys(state.absorbing);
    const untold = via !== null && !hasAbsorbed(state, via) ? via : unfinished;
    if (untold === undefined) return survivor;
    await absorbThread(deps, untold, cause);
  }
}

/**
 * Returns the thread that the draft's thread id stands for now, and the attempt for which the draft is claimed there; undefined if there is
 * no claim.
 */
export async function claimedAttempt(
  deps: Dependencies,
  { threadId, draftId }: { threadId: string; draftId: string },
  cause: Cause,
): Promise<{ threadId: string; attemptId: string | undefined }> {
  const survivor = await loadWholeThread(deps, threadId, cause);
  return { threadId: survivor.threadId, attemptId: sendClaimOf(survivor.state, draftId)?.attemptId };
}

/**
 * Notes a draft's state on its thread, so that the thread's status includes it. Noting the same or an older state again changes nothing.
 * `hasEnded`: true if the draft has ended since.
 */
export async function noteDraft(
  deps: Dependencies,
  note: { threadId: string; draftId: string; outcome: DraftOutcome; draftRevision: number; hasEnded?: boolean },
  cause: Cause,
) {
  const { threadId, ...noted } = note;
  const decided = noted.outcome === "stale" || noted.outcome === "failed" ? await decidedBeside(deps, note) : [];
  const command = { type: "NoteDraft", ...noted, ...(decided.length > 0 && { decided }) } as const;
  return commandThread(deps, { threadId, command }, cause);
}

/**
 * Returns the thread's other drafts that are noted as pending but are not pending any more. Returns none if another draft really is
 * pending, because the thread's status then does not depend on the others.
 */
async function decidedBeside(
  deps: Dependencies,
  { threadId, draftId }: { threadId: string; draftId: string },
): Promise<string[]> {
  const { state: thread } = await loadThread(deps, threadId);
  const decided: string[] = [];
  for (const [id, { status }] of entriesOf(thread.drafts)) {
    if (id === draftId || status !== "pending") continue;
    if ((await deps.drafts.load(id)).state.status === "pending") return [];
    decided.push(id);
  }
  return decided;
}
