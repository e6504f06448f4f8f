import { setTimeout as sleep } from "node:timers/promises";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { createSingleFlight, type SingleFlight } from "#src/platform/singleFlight.ts";
import type { Recorded } from "#streams/event.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { fileInbox } from "../inbound/filing/fileInbox.ts";
import { cachedStates, withOwnReads } from "../states/loader.ts";

/** Pause between a waiter's checks, in milliseconds: starts at `pollMs` and grows up to `longestPollMs`. */
const pollMs = 5;
const longestPollMs = 50;

/** Milliseconds after which a waiter files the mail itself: a running filing takes only a few milliseconds. */
const ownFilingAfterMs = 30;

/** Longest wait of a process, in milliseconds: its lane then yields to others and is tried again. */
const rulesWaitMs = 1_000;

/** Returns the longest wait of a send for acknowledged mail, in milliseconds. `asked`: a caller waits for the answer. */
export const barrierWaitMs = ({ settings }: Dependencies, asked: boolean): number =>
  asked ? settings.barrierTimeoutMs : rulesWaitMs;

/**
 * Wait in milliseconds for an identity whose last wait timed out and whose filing made no progress
 * since: such identities must not delay others.
 */
const stuckWaitMs = 100;

/** Longest wait of a submission for acknowledged mail, in milliseconds. The result only decides a warning, so it continues without. */
const submissionWaitMs = 2_000;

/**
 * Waits until all mail acknowledged for this identity is filed on its thread. Acknowledged mail that is not filed yet is already a newer
 * message of the customer, so no send may be judged before (streams/README.md, invariant 3). Returns the inbox's revision up to which
 * everything is filed (-1: no mail was ever received). `withinMs`: the configured limit by default. Throws Unavailable after it.
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

/** The wait timed out. */
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

/** Returns the inbox's revision up to which everything is filed; undefined if that took longer than `withinMs`. */
async function filedWithin(deps: Dependencies, identityId: string, withinMs: number): Promise<number | undefined> {
  const { revision: end } = await deps.inboxes.load(identityId);
  // Filing only advances: mail filed in an old state stays filed.
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

/** One instance's waiters: the filings under way here, and per identity the revision filed when a wait timed out. */
type BarrierWaiters = { filing: SingleFlight<void>; stuckAt: Map<string, number> };

const waiters = new WeakMap<object, BarrierWaiters>();

function waitersOf({ store }: Dependencies): BarrierWaiters {
  const known = waiters.get(store) ?? { filing: createSingleFlight(), stuckAt: new Map() };
  waiters.set(store, known);
  return known;
}

/**
 * Files the inbox, once for all waiters of this instance, even if another instance does so too: a busy planner or worker must not delay a
 * send. Resolves when the filing has ended or failed: only recorded events count.
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
