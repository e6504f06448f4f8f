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

/** Sends a command to a thread, or to the thread it was merged into. Returns the id of the one that handled it. */
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
      // The surviving thread may not have absorbed everything yet, and would judge without it.
      id = (await loadWholeThread(deps, id, cause)).threadId;
    }
  }
}

/** Sends a command to this very thread, after completing an interrupted merge that the command must wait for. */
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

/** Tries to complete a merge: another version of this service may divide it differently and restart it. */
const maxTellings = 3;

/**
 * Transfers a frozen thread's data to its surviving thread, part by part. Repetition, concurrent or after a crash,
 * transfers what is left. Throws Unavailable.
 */
export async function absorbThread(deps: Dependencies, absorbedId: string, cause: Cause): Promise<void> {
  const { state: frozen } = await deps.threads.load(absorbedId);
  const { mergedInto: survivorId } = frozen;
  if (survivorId === null) throw new Error(`thread ${absorbedId} was merged into no other`);
  const parts = splitForAbsorption(absorbedId, frozen);
  for (let telling = 0; telling < maxTellings; telling++) {
    for (const part of parts) {
      const { state: survivor } = await deps.threads.handle(survivorId, { type: "AbsorbThread", ...part }, cause);
      // A thread is merged into another one only after it has absorbed everything.
      if (hasAbsorbed(survivor, absorbedId) || survivor.mergedInto !== null) return;
    }
  }
  throw new Unavailable("two threads are still being merged: retry shortly");
}

/** Returns the thread that an id means now: itself, or the one it was merged into. */
export const loadThread = (deps: Dependencies, threadId: string): Promise<Survivor> => survivorOf(deps, threadId);

/** Like loadThread, but first completes unfinished merges, so that the thread knows everything of those merged into it. */
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

/** Returns the attempt a draft is claimed for, undefined if there is none, and the thread that its thread id means now. */
export async function claimedAttempt(
  deps: Dependencies,
  { threadId, draftId }: { threadId: string; draftId: string },
  cause: Cause,
): Promise<{ threadId: string; attemptId: string | undefined }> {
  const survivor = await loadWholeThread(deps, threadId, cause);
  return { threadId: survivor.threadId, attemptId: sendClaimOf(survivor.state, draftId)?.attemptId };
}

/**
 * Notes a draft's state on its thread, for the thread's own status. Repetition, or an older note, changes
 * nothing. `hasEnded`: the draft has ended since.
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
 * Returns the thread's other drafts that are noted as pending but are not; none if one really is pending, because only that matters then.
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
