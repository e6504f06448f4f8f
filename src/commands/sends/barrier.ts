import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { createSingleFlight, type SingleFlight } from "#src/platform/singleFlight.ts";
import type { Recorded } from "#streams/event.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { fileInbox } from "../inbound/filing/fileInbox.ts";
import { cachedStates, withOwnReads } from "../states/loader.ts";

/** Pause in milliseconds between the checks of a waiting send: starts at `pollMs` and grows up to `longestPollMs`. */
const pollMs = 5;
const longestPollMs = 50;

/** Milliseconds after which a waiting send files the mail itself, because a running filing takes only a few milliseconds. */
const ownFilingAfterMs = 30;

/** Maximum wait of a process in milliseconds. After it the process's lane yields to others and is tried again. */
const rulesWaitMs = 1_000;

/**
 * Returns the maximum time in milliseconds that a send waits until acknowledged mail is filed. `asked`: true if a caller waits for the
 * result.
 */
export const barrierWaitMs = ({ settings }: Dependencies, asked: boolean): number =>
  asked ? settings.barrierTimeoutMs : rulesWaitMs;

/**
 * Wait in milliseconds for an identity whose last wait timed out and whose filing has made no progress since. It is short, so that such
 * identities do not delay others.
 */
const stuckWaitMs = 100;

/**
 * Maximum time in milliseconds that a submission waits until acknowledged mail is filed. After it the submission continues, because only a
 * warning depends on it.
 */
const submissionWaitMs = 2_000;

/**
 * Waits until all mail acknowledged for this identity is filed on its threads. Acknowledged mail counts as a newer message of the customer
 * even before it is filed, so a send may be judged only after this wait (streams/README.md, invariant 3). Returns the revision of the inbox
 * up to which everything is filed (-1 if no mail was ever received). `withinMs`: maximum wait; default: the configured limit. Throws
 * Unavailable after it.
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

/** Thrown if the wait timed out. */
class StillFiling extends Unavailable {}

/** Returns the revision of the inbox's last event, -1 if no mail was ever received. Linearisable. */
export const inboxEnd = async ({ inboxes }: Pick<Dependencies, "inboxes">, identityId: string): Promise<number> =>
  (await inboxes.fresh(identityId)).revision;

/** Waits for acknowledged mail before a submission; continues after a timeout with the mail filed so far. */
export async function waitForSubmission(deps: Dependencies, identityId: string): Promise<void> {
  try {
    await waitUntilFiled(deps, identityId, submissionWaitMs);
  } catch (error) {
    if (!(error instanceof StillFiling)) throw error;
  }
}

/** Returns the revision of the inbox up to which everything is filed; undefined if filing took longer than `withinMs`. */
async function filedWithin(deps: Dependencies, identityId: string, withinMs: number): Promise<number | undefined> {
  const { revision: end } = await deps.inboxes.load(identityId);
  // An old cached state suffices, because filed mail stays filed.
  const { state: known } = await cachedStates(deps).filings.load(identityId);
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

/** The waits of one instance. `filing`: filings that run here. `stuckAt`: by identity, the revision filed when a wait timed out. */
type BarrierWaiters = { filing: SingleFlight<void>; stuckAt: Map<string, number> };

const waiters = new WeakMap<object, BarrierWaiters>();

function waitersOf({ store }: Dependencies): BarrierWaiters {
  const known = waiters.get(store) ?? { filing: createSingleFlight(), stuckAt: new Map() };
  waiters.set(store, known);
  return known;
}

/**
 * Files the inbox once for all waiting sends of this instance, even if another instance files it too, so that a busy planner or worker does
 * not delay a send. Resolves when the filing has ended, even with an error, because the caller relies on recorded events only.
 */
function fileHere(deps: Dependencies, identityId: string): Promise<void> {
  return waitersOf(deps).filing.run(identityId, () =>
    deps.store
      .readLast(inboxStream(identityId))
      .then((newest) => newest && fileInbox(withOwnReads(deps), identityId, causedBy(newest)))
      .catch(() => sleep(longestPollMs)),
  );
}

const causedBy = ({ id, metadata: { workspaceId, correlationId } }: Recorded): Cause => ({
  actor: { kind: "system", id: "fileInboundEmail" },
  workspaceId,
  correlationId,
  causationId: id,
});
