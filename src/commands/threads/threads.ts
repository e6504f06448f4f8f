import { Rejected } from "#streams/decider.ts";
import type { DraftOutcome } from "#streams/draft/outcome.ts";
import type { ThreadCommand } from "#streams/thread/decider.ts";
import type { Thread } from "#streams/thread/thread.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause, Handled } from "../handle.ts";

/** A merge can follow a merge; the oldest survives, so there is always an end. */
const maxMerges = 100;

/** Hands a command to a thread, or to the thread it was merged into. Answers the id of the one that took it. */
export async function onThread(
  deps: Dependencies,
  { threadId, command }: { threadId: string; command: ThreadCommand },
  cause: Cause,
): Promise<Handled<Thread> & { threadId: string }> {
  let id = threadId;
  for (let merges = 0; merges < maxMerges; merges++) {
    try {
      return { ...(await deps.threads.handle(id, command, cause)), threadId: id };
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== "thread_merged") throw error;
      // The survivor may not know yet what the absorbed thread knows, and would judge without it.
      await absorbThread(deps, id, cause);
      id = error.details.survivorId as string;
    }
  }
  throw new Error(`thread ${threadId} was merged more than ${maxMerges} times`);
}

/** Tells a frozen thread's survivor what it has to know of it. Repeating it changes nothing. */
export async function absorbThread(deps: Dependencies, absorbedId: string, cause: Cause): Promise<void> {
  const { state: thread } = await deps.threads.load(absorbedId);
  const { newestNumber, newestWord, participants, drafts, needsReview, unauthenticated, machineAnswers, mergedInto } =
    thread;
  const command = {
    type: "AbsorbThread",
    absorbedId,
    number: thread.mergeNumber,
    newestNumber,
    newestWord,
    participants,
    drafts,
    claims: Object.values(thread.claims),
    needsReview,
    unauthenticated,
    machineAnswers,
  } as const;
  await deps.threads.handle(mergedInto as string, command, cause);
}

/** The thread an id means today: itself, or what it was merged into. */
export const loadThread = (deps: Dependencies, threadId: string) => followMerges(deps, threadId, async () => {});

/** The same, once it knows all that was known on those merged into it. */
export const loadWholeThread = (deps: Dependencies, threadId: string, cause: Cause) =>
  followMerges(deps, threadId, (absorbedId) => absorbThread(deps, absorbedId, cause));

async function followMerges(deps: Dependencies, threadId: string, onMerged: (absorbedId: string) => Promise<void>) {
  let id = threadId;
  for (let merges = 0; merges < maxMerges; merges++) {
    const loaded = await deps.threads.load(id);
    if (loaded.state.mergedInto === null) return { ...loaded, threadId: id };
    await onMerged(id);
    id = loaded.state.mergedInto;
  }
  throw new Error(`thread ${threadId} was merged more than ${maxMerges} times`);
}

/** Reports a draft's state to its thread, for the thread's own status. Repeating it, or an older note, changes nothing. */
export const noteDraft = (
  deps: Dependencies,
  note: { threadId: string; draftId: string; outcome: DraftOutcome; draftRevision: number },
  cause: Cause,
) => {
  const { threadId, draftId, outcome, draftRevision } = note;
  return onThread(deps, { threadId, command: { type: "NoteDraft", draftId, outcome, draftRevision } }, cause);
};
