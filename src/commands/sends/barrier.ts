import { setTimeout as sleep } from "node:timers/promises";
import { noStream, Unavailable } from "#src/eventStore/eventStore.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";

const pollMs = 5;

/**
 * Waits until everything acknowledged for this identity stands in its thread. A mail acknowledged but not filed yet is already the
 * customer's newer word, so no send may be judged before (streams/README.md, invariant 3). Answers the inbox's revision up to which that holds (-1: nothing
 * was ever received), without waiting where it is still `known`. Throws Unavailable after the settings' bound.
 */
export async function waitUntilFiled(deps: Dependencies, identityId: string, known = noStream): Promise<number> {
  const filedUpTo = await filedWithin(deps, identityId, { withinMs: deps.settings.barrierTimeoutMs, known });
  if (filedUpTo !== undefined) return filedUpTo;
  throw new Unavailable("mail that has just arrived is still being filed: retry shortly");
}

/** How long a submission waits for acknowledged mail. What it decides by that is a warning, so it goes on without. */
const submissionWaitMs = 2_000;

/** The same before a submission, which goes by what is filed by then. */
export async function waitForFiling(deps: Dependencies, identityId: string): Promise<void> {
  await filedWithin(deps, identityId, { withinMs: submissionWaitMs, known: noStream });
}

/** The inbox's revision up to which everything is filed; undefined if that took longer than `withinMs`. */
async function filedWithin(
  deps: Dependencies,
  identityId: string,
  { withinMs, known }: { withinMs: number; known: number },
): Promise<number | undefined> {
  const tail = await deps.store.readLast(inboxStream(identityId));
  if (!tail || tail.revision === known) return known;
  const deadline = deps.clock.monotonic() + withinMs;
  for (;;) {
    const { state } = await deps.filings.load(identityId);
    if (state.filedUpTo >= tail.revision) return tail.revision;
    if (deps.clock.monotonic() > deadline) return undefined;
    await sleep(pollMs);
  }
}
