import { setTimeout as sleep } from "node:timers/promises";
import { noStream, Unavailable } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";
import { inboxStream } from "#streams/inbox/events.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { fileInbox } from "../inbound/filing.ts";

/** How often a waiter looks at first; the pauses grow up to the second one. */
const pollMs = 5;
const longestPollMs = 50;

/** Filing takes milliseconds where somebody is at it. After this long a waiter does it itself. */
const ownFilingAfterMs = 30;

/** A rule waits no longer than this, in milliseconds: its lane then gives its slot to others, and is tried again. */
export const rulesWaitMs = 1_000;

/** If a wait ran out and nothing was filed since, the next ones are this short: many such identities hold nobody up. */
const stuckWaitMs = 100;

/** How long a submission waits for acknowledged mail. What it decides by that is a warning, so it goes on without. */
const submissionWaitMs = 2_000;

/**
 * `known`: the inbox's revision that is known to be filed. `withinMs`: the settings' bound by default. `end`: where the inbox ends, if that is
 * being looked at already.
 */
type Waiting = { known?: number; withinMs?: number; end?: Promise<number> | undefined };

/**
 * Waits until everything acknowledged for this identity is in its thread. A mail acknowledged but not filed yet is already the
 * customer's newer word, so no send may be judged before (streams/README.md, invariant 3). Answers the inbox's revision up to which that holds (-1: nothing
 * was ever received), without waiting where it is still `known`. Throws Unavailable after the bound.
 */
export async function waitUntilFiled(
  deps: Dependencies,
  identityId: string,
  { known = noStream, withinMs = deps.settings.barrierTimeoutMs, end = inboxEnd(deps, identityId) }: Waiting = {},
): Promise<number> {
  const filedUpTo = await filedWithin(deps, identityId, { withinMs, known, end });
  if (filedUpTo !== undefined) return filedUpTo;
  throw new StillFiling("mail that has just arrived is still being filed: retry shortly");
}

/** The wait ran out. */
class StillFiling extends Unavailable {}

/** Where the inbox ends now: the revision of its last event, -1 if nothing was ever received. Linearisable. */
export async function inboxEnd(deps: Pick<Dependencies, "inboxes" | "store">, identityId: string): Promise<number> {
  const kept = deps.inboxes.kept(identityId)?.revision;
  if (kept !== undefined) {
    // Whether anything came since is asked as other streams are, and together with them.
    const newer = await deps.store.readPage(inboxStream(identityId), { from: kept + 1, events: 1, bytes: 1 });
    if (newer.events.length === 0) return kept;
  }
  return (await deps.inboxes.load(identityId)).revision;
}

/**
 * What `load` finds of a thread once everything acknowledged is in it, and the inbox's revision up to which that holds. Both are asked for at
 * once: what was known to be filed before is in what was loaded then. If the inbox ends later, it is loaded after the wait.
 */
export async function loadFiled<Found>(
  deps: Dependencies,
  { identityId, withinMs }: { identityId: string; withinMs?: number },
  load: () => Promise<Found>,
): Promise<{ filedUpTo: number; found: Found }> {
  const filedBefore = knownFiled(deps, identityId);
  const [end, early] = await Promise.all([inboxEnd(deps, identityId), load()]);
  if (end <= filedBefore) return { filedUpTo: end, found: early };
  const waiting = { end: Promise.resolve(end), ...(withinMs !== undefined && { withinMs }) };
  const filedUpTo = await waitUntilFiled(deps, identityId, waiting);
  return { filedUpTo, found: await load() };
}

/** The same before a submission, which goes by what is filed within its time. */
export async function loadForSubmission<Found>(
  deps: Dependencies,
  identityId: string,
  load: () => Promise<Found>,
): Promise<Found> {
  try {
    return (await loadFiled(deps, { identityId, withinMs: submissionWaitMs }, load)).found;
  } catch (error) {
    if (!(error instanceof StillFiling)) throw error;
    return load();
  }
}

/** Up to where the inbox is filed by what is kept here. Filing only goes on, so that holds however old it is. */
const knownFiled = ({ filings }: Pick<Dependencies, "filings">, identityId: string): number =>
  filings.kept(identityId)?.state.filedUpTo ?? noStream;

/** The inbox's revision up to which everything is filed; undefined if that took longer than `withinMs`. */
async function filedWithin(
  deps: Dependencies,
  identityId: string,
  { withinMs, known, end: asked }: Required<Waiting>,
): Promise<number | undefined> {
  const end = await asked;
  if (end === known || end <= knownFiled(deps, identityId)) return end;
  const { stuckAt } = waitersOf(deps);
  const began = deps.clock.monotonic();
  for (let pauseMs = pollMs; ; pauseMs = Math.min(2 * pauseMs, longestPollMs)) {
    const { state } = await deps.filings.load(identityId);
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
type Waiters = { filing: Map<string, Promise<void>>; stuckAt: Map<string, number> };

const waiters = new WeakMap<object, Waiters>();

function waitersOf({ filings }: Dependencies): Waiters {
  const known = waiters.get(filings) ?? { filing: new Map(), stuckAt: new Map() };
  waiters.set(filings, known);
  return known;
}

/**
 * Files the inbox, once for all who wait for it here, even if others do so too: so a busy planner or runner of processes is not in a send's
 * way. Resolves when it has ended, well or not: only what is recorded counts.
 */
function fileHere(deps: Dependencies, identityId: string): Promise<void> {
  const { filing } = waitersOf(deps);
  const underWay = filing.get(identityId);
  if (underWay) return underWay;
  const run = deps.store
    .readLast(inboxStream(identityId))
    .then((newest) => newest && fileInbox(deps, identityId, causedBy(newest)))
    .catch(() => sleep(longestPollMs))
    .finally(() => filing.delete(identityId));
  filing.set(identityId, run);
  return run;
}

const causedBy = ({ id, metadata: { workspaceId, correlationId } }: Recorded): Cause => ({
  actor: { kind: "system", id: "fileInboundEmail" },
  workspaceId,
  correlationId,
  causationId: id,
});
