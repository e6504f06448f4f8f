import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { DraftOutcome } from "#streams/draft/outcome.ts";
import { entriesOf } from "#streams/idMap.ts";
import { absorptionOf } from "#streams/thread/absorption.ts";
import type { ThreadCommand } from "#streams/thread/decider.ts";
import { sendClaimOf } from "#streams/thread/sending.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, Handled } from "../handle.ts";
import { knownSurvivor, knowsOf, type Survivor, survivorOf } from "./merges.ts";

/** Hands a command to a thread, or to the thread it was merged into. Answers the id of the one that took it. */
export async function onThread(
  deps: Dependencies,
  { threadId, command }: { threadId: string; command: ThreadCommand },
  cause: Cause,
): Promise<Handled<Thread> & { threadId: string }> {
  let id = knownSurvivor(deps, threadId);
  for (;;) {
    try {
      return { ...(await onItself(deps, { threadId: id, command }, cause)), threadId: id };
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== "thread_merged") throw error;
      // The survivor may not know yet what the absorbed thread knows, and would judge without it.
      id = (await loadWholeThread(deps, id, cause)).threadId;
    }
  }
}

/** Hands a command to this very thread. What the command has to wait for is done first: the rest of a merge that was cut off. */
export async function onItself(
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

/** Another version of this service may divide a merge otherwise, and begin it again: it is told so often. */
const maxTellings = 3;

/**
 * Tells a frozen thread's survivor what it has to know of it, part by part. Repeating it, at the same moment or after a crash, tells what is
 * left. Throws Unavailable.
 */
export async function absorbThread(deps: Dependencies, absorbedId: string, cause: Cause): Promise<void> {
  const { state: frozen } = await deps.threads.load(absorbedId);
  const { mergedInto: survivorId } = frozen;
  if (survivorId === null) throw new Error(`thread ${absorbedId} was merged into no other`);
  const parts = absorptionOf(absorbedId, frozen);
  for (let telling = 0; telling < maxTellings; telling++) {
    for (const part of parts) {
      const { state: survivor } = await deps.threads.handle(survivorId, { type: "AbsorbThread", ...part }, cause);
      // It is merged into another one only once it has been told everything.
      if (knowsOf(survivor, absorbedId) || survivor.mergedInto !== null) return;
    }
  }
  throw new Unavailable("two threads are still being merged: retry shortly");
}

/** The thread an id means today: itself, or what it was merged into. */
export const loadThread = (deps: Dependencies, threadId: string): Promise<Survivor> => survivorOf(deps, threadId);

/** The same, once it knows all that was known on those merged into it. */
export async function loadWholeThread(deps: Dependencies, threadId: string, cause: Cause): Promise<Survivor> {
  for (;;) {
    const survivor = await survivorOf(deps, threadId);
    const { state, via } = survivor;
    const [unfinished] = Object.keys(state.absorbing);
    const untold = via !== null && !knowsOf(state, via) ? via : unfinished;
    if (untold === undefined) return survivor;
    await absorbThread(deps, untold, cause);
  }
}

/** The attempt that a draft is claimed for, undefined if for none, and the thread that its own means today. */
export async function claimedAttempt(
  deps: Dependencies,
  { threadId, draftId }: { threadId: string; draftId: string },
  cause: Cause,
): Promise<{ threadId: string; attemptId: string | undefined }> {
  const survivor = await loadWholeThread(deps, threadId, cause);
  return { threadId: survivor.threadId, attemptId: sendClaimOf(survivor.state, draftId)?.attemptId };
}

/**
 * Reports a draft's state to its thread, for the thread's own status. Repeating it, or an older note, changes nothing. `hasEnded`: the draft
 * has ended since.
 */
export async function noteDraft(
  deps: Dependencies,
  note: { threadId: string; draftId: string; outcome: DraftOutcome; draftRevision: number; hasEnded?: boolean },
  cause: Cause,
) {
  const { threadId, ...noted } = note;
  const decided = noted.outcome === "stale" || noted.outcome === "failed" ? await decidedBeside(deps, note) : [];
  const command = { type: "NoteDraft", ...noted, ...(decided.length > 0 && { decided }) } as const;
  return onThread(deps, { threadId, command }, cause);
}

/** The other drafts of a thread that wait for no decision, though they were noted as pending; none if one does wait, which is all that counts then. */
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
