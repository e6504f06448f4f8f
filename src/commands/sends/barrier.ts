import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { createSingleFlight, type SingleFlight } from "#src/platform/singleFlight.ts";
import type { Recorded } from "#streams/event.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { fileInbox } from "../inbound/filing/fileInbox.ts";
import { actingFor, keptStates } from "../states/loader.ts";

/** How often a waiter looks at first; the pauses grow up to the second one. */
const pollMs = 5;
const longestPollMs = 50;

/** Filing takes milliseconds where somebody is at it. After this long a waiter does it itself. */
const ownFilingAfterMs = 30;

/** A rule waits no longer than this, in milliseconds: its lane then gives its slot to others, and is tried again. */
const rulesWaitMs = 1_000;

/** How long a send waits for acknowledged mail, in milliseconds. `asked`: someone waits for the answer. */
export const waitMs = ({ settings }: Dependencies, asked: boolean): number =>
  asked ? settings.barrierTimeoutMs : rulesWaitMs;

/** If a wait ran out and nothing was filed since, the next ones are this short: many such identities hold nobody up. */
const stuckWaitMs = 100;

/** How long a submission waits for acknowledged mail. What it decides by that is a warning, so it goes on without. */
const submissionWaitMs = 2_000;

/**
 * Waits until everything acknowledged for this identity is in its thread. A mail acknowledged but not filed yet is already the
 * customer's newer word, so no send may be judged before (streams/README.md, invariant 3). Answers the inbox's revision up to which that holds (-1: nothing
 * was ever received). `withinMs`: the settings' bound by default. Throws Unavailable after it.
 */
export async function waitUntilFiled(
  deps: Dependencies,
  identityId: string,
  withinMs = deps.settings.barrierTimeoutMs,
): Promise<number> {
  const filedUpTo = await filedWithin(deps, identityId, withinMs);
  if (filedUpTo !== undefined) return filedUpTo;
  throw new StillFiling("mail that has just arrived is still being filed: retry shortly");
}

/** The wait ran out. */
class StillFiling extends Unavailable {}

/** Where the inbox ends now: the revision of its last event, -1 if nothing was ever received. Linearisable. */
export const inboxEnd = async ({ inboxes }: Pick<Dependencies, "inboxes">, identityId: string): Promise<number> =>
  (await inboxes.fresh(identityId)).revision;

/** Waits for acknowledged mail before a submission, which goes by what is filed within its time. */
export async function waitForSubmission(deps: Dependencies, identityId: string): Promise<void> {
  try {
    await waitUntilFiled(deps, identityId, submissionWaitMs);
  } catch (error) {
    if (!(error instanceof StillFiling)) throw error;
  }
}

/** The inbox's revision up to which everything is filed; undefined if that took longer than `withinMs`. */
async function filedWithin(deps: Dependencies, identityId: string, withinMs: number): Promise<number | undefined> {
  const { revision: end } = await deps.inboxes.load(identityId);
  // Filing only goes on: what an old state has filed stays filed.
  const { state: known } = await keptStates(deps).filings.load(identityId);
  if (known.filedUpTo >= end) return end;
  const { stuckAt } = waitersOf(deps);
  let began: number | undefined;
  for (let pauseMs = pollMs; ; pauseMs = Math.min(2 * pauseMs, longestPollMs)) {
    const { state } = await deps.filings.fresh(identityId);
    began ??= deps.clock.monotonic();
    if (state.filedUpTo >= end) {
      stuckAt.delete(identityId);
      return end;
    }
    const waitedMs = deps.clock.monotonic() - began;
    const isStuck = stuckAt.get(identityId) === state.filedUpTo;
    if (waitedMs > Math.min(withinMs, isStuck ? stuckWaitMs : withinMs)) {
      stuckAt.set(identityId, state.filedUpTo);
      return undefined;
    }
    const filing = waitedMs >= ownFilingAfterMs || isStuck ? fileHere(deps, identityId) : undefined;
    await Promise.race([sleep(pauseMs), ...(filing ? [filing] : [])]);
  }
}

/** Of the waiters of one instance: who files here, and up to where an identity's mail was filed when a wait ran out. */
type Waiters = { filing: SingleFlight<void>; stuckAt: Map<string, number> };

const waiters = new WeakMap<object, Waiters>();

function waitersOf({ store }: Dependencies): Waiters {
  const known = waiters.get(store) ?? { filing: createSingleFlight(), stuckAt: new Map() };
  waiters.set(store, known);
  return known;
}

/**
 * Files the inbox, once for all who wait for it here, even if others do so too: so a busy planner or runner of processes is not in a send's
 * way. Resolves when it has ended, well or not: only what is recorded counts.
 */
function fileHere(deps: Dependencies, identityId: string): Promise<void> {
  return waitersOf(deps).filing.run(identityId, () =>
    deps.store
      .readLast(inboxStream(identityId))
      .then((newest) => newest && fileInbox(actingFor(deps), identityId, causedBy(newest)))
      .catch(() => sleep(longestPollMs)),
  );
}

const causedBy = ({ id, metadata: { workspaceId, correlationId } }: Recorded): Cause => ({
  actor: { kind: "system", id: "fileInboundEmail" },
  workspaceId,
  correlationId,
  causationId: id,
});
