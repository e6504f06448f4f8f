import { setTimeout as sleep } from "node:timers/promises";
import { noStream, Unavailable } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { fileInbox } from "../inbound/filing.ts";

/** How often a waiter looks at first; the pauses grow up to the second one. */
const pollMs = 5;
const longestPollMs = 50;

/** Filing takes milliseconds where somebody is at it. After this long a waiter does it itself. */
const ownFilingAfterMs = 30;

/** A rule waits no longer than this, in milliseconds: its lane then gives its slot to others, and is tried again. */
export const rulesWaitMs = 1_000;

/** Where a wait was in vain and nothing was filed since, the next ones are this short: many such identities hold nobody up. */
const stuckWaitMs = 100;

/** How long a submission waits for acknowledged mail. What it decides by that is a warning, so it goes on without. */
const submissionWaitMs = 2_000;

/** `known`: the inbox's revision that is known to be filed. `withinMs`: the settings' bound by default. */
type Waiting = { known?: number; withinMs?: number };

/**
 * Waits until everything acknowledged for this identity stands in its thread. A mail acknowledged but not filed yet is already the
 * customer's newer word, so no send may be judged before (streams/README.md, invariant 3). Answers the inbox's revision up to which that holds (-1: nothing
 * was ever received), without waiting where it is still `known`. Throws Unavailable after the bound.
 */
export async function waitUntilFiled(
  deps: Dependencies,
  identityId: string,
  { known = noStream, withinMs = deps.settings.barrierTimeoutMs }: Waiting = {},
): Promise<number> {
  const filedUpTo = await filedWithin(deps, identityId, { withinMs, known });
  if (filedUpTo !== undefined) return filedUpTo;
  throw new Unavailable("mail that has just arrived is still being filed: retry shortly");
}

/** The same before a submission, which goes by what is filed by then. */
export async function waitForFiling(deps: Dependencies, identityId: string): Promise<void> {
  await filedWithin(deps, identityId, { withinMs: submissionWaitMs, known: noStream });
}

/** The inbox's revision up to which everything is filed; undefined if that took longer than `withinMs`. */
async function filedWithin(
  deps: Dependencies,
  identityId: string,
  { withinMs, known }: Required<Waiting>,
): Promise<number | undefined> {
  const tail = await deps.store.readLast(inboxStream(identityId));
  if (!tail || tail.revision === known) return known;
  const { stuckAt } = waitersOf(deps);
  const began = deps.clock.monotonic();
  for (let pauseMs = pollMs; ; pauseMs = Math.min(2 * pauseMs, longestPollMs)) {
    const { state } = await deps.filings.load(identityId);
    if (state.filedUpTo >= tail.revision) {
      stuckAt.delete(identityId);
      return tail.revision;
    }
    const waitedMs = deps.clock.monotonic() - began;
    const isStuck = stuckAt.get(identityId) === state.filedUpTo;
    if (waitedMs > Math.min(withinMs, isStuck ? stuckWaitMs : withinMs)) {
      stuckAt.set(identityId, state.filedUpTo);
      return undefined;
    }
    const filing = waitedMs >= ownFilingAfterMs || isStuck ? fileHere(deps, identityId, tail) : undefined;
    await Promise.race([sleep(pauseMs), ...(filing ? [filing] : [])]);
  }
}

/** Of the waiters of one instance: who files here, and up to where an identity's mail was filed when somebody waited in vain. */
type Waiters = { filing: Map<string, Promise<void>>; stuckAt: Map<string, number> };

const waiters = new WeakMap<object, Waiters>();

function waitersOf({ filings }: Dependencies): Waiters {
  const known = waiters.get(filings) ?? { filing: new Map(), stuckAt: new Map() };
  waiters.set(filings, known);
  return known;
}

/**
 * Files the inbox, once for all who wait for it here, beside whoever else is at it: so nobody who plans or runs processes stands in a send's
 * way. Resolves when it has ended, well or not: only what is recorded counts.
 */
function fileHere(deps: Dependencies, identityId: string, tail: Recorded): Promise<void> {
  const { filing } = waitersOf(deps);
  const underWay = filing.get(identityId);
  if (underWay) return underWay;
  const { workspaceId, correlationId } = tail.metadata;
  const cause = {
    actor: { kind: "system", id: "fileInboundEmail" },
    workspaceId,
    correlationId,
    causationId: tail.id,
  } as const;
  const run = fileInbox(deps, identityId, cause)
    .catch(() => sleep(longestPollMs))
    .finally(() => filing.delete(identityId));
  filing.set(identityId, run);
  return run;
}
