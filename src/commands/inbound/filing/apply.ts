import { crashPoint } from "#src/platform/crashPoints.ts";
import { isHeld, isMessage, type PendingFiling } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { absorbThread, commandExactThread } from "../../threads/threads.ts";
import { alertLostMail, type ReadMail, readMail, readReceivedAt, withMemoryFor } from "../readMail.ts";
import { isInfrastructure, isPermanent } from "./failures.ts";
import { putOnThread } from "./putOnThread.ts";
import { type FilingFailure, quarantine, recordSmallest } from "./repair.ts";
import { emptyContent } from "./smallestForm.ts";

/** Filing decisions about one identity's mail. `mails`: mails that were already read, by their revision in the inbox. */
type DecidedFilings = { identityId: string; decisions: readonly PendingFiling[]; mails: Map<number, ReadMail> };

/** Records decisions, then applies them. Returns false if another filer recorded decisions first; then none of these is recorded. */
export async function recordAndApply(
  deps: Dependencies,
  { identityId, decisions, mails }: DecidedFilings & { decisions: FilingDecision[] },
  cause: Cause,
): Promise<boolean> {
  const recorded = await record(deps, { identityId, decisions }, cause);
  if (!recorded) return false;
  alertLostMail(deps, mails.values());
  crashPoint("filing:decided");
  await applyFilings(deps, { identityId, decisions: recorded, mails }, cause);
  return true;
}

/**
 * Appends all decisions together. If that can never succeed, appends each one separately, and a decision that cannot be recorded at all in
 * its smallest form. Returns the decisions to apply; undefined if another filer recorded decisions first.
 */
async function record(
  deps: Dependencies,
  { identityId, decisions }: { identityId: string; decisions: FilingDecision[] },
  cause: Cause,
): Promise<PendingFiling[] | undefined> {
  try {
    const { changed, state } = await deps.filings.handle(identityId, { type: "DecideFiling", decisions }, cause);
    return changed ? state.pending : undefined;
  } catch (error) {
    if (!isPermanent(error)) throw error;
    if (decisions.length === 1) {
      return recordSmallest(deps, { identityId, decision: decisions[0] as FilingDecision, error }, cause);
    }
  }
  let recorded: PendingFiling[] | undefined;
  for (const decision of decisions) {
    recorded = await record(deps, { identityId, decisions: [decision] }, cause);
    if (!recorded) return undefined;
  }
  return recorded;
}

/** Applies decisions that an earlier run, or another filer, recorded. */
export async function applyPending(
  deps: Dependencies,
  { identityId, pending }: { identityId: string; pending: readonly PendingFiling[] },
  cause: Cause,
): Promise<void> {
  const received = await Promise.all(
    pending.map(({ inboxRevision }) => readReceivedAt(deps, identityId, inboxRevision)),
  );
  await withMemoryFor(deps, received, () =>
    applyFilings(deps, { identityId, decisions: pending, mails: new Map() }, cause),
  );
}

/** Applies recorded decisions, quarantines the mails whose decisions cannot be applied, and marks all as filed. */
export async function applyFilings(deps: Dependencies, decided: DecidedFilings, cause: Cause): Promise<void> {
  const { identityId, decisions } = decided;
  for (let left = decisions; left.length > 0; ) {
    const { failures, waiting } = await applyInOrder(deps, { ...decided, decisions: left }, cause);
    for (const failure of failures) await quarantine(deps, identityId, { failure, cause });
    left = await stillPending(deps, identityId, [...failures.map(({ decision }) => decision), ...waiting]);
  }
  const last = decisions.at(-1) as FilingDecision;
  const inboxRevision = Math.max(...decisions.map((decision) => decision.inboxRevision));
  const command = { type: "MarkFiled", number: last.number, inboxRevision } as const;
  await deps.filings.handle(identityId, command, cause);
  crashPoint("filing:filed");
}

/** Re-reads the pending filings, and returns those of the given decisions that no filer has applied yet. */
async function stillPending(
  deps: Dependencies,
  identityId: string,
  decisions: readonly FilingDecision[],
): Promise<PendingFiling[]> {
  if (decisions.length === 0) return [];
  const numbers = new Set(decisions.map(({ number }) => number));
  const { state } = await deps.filings.load(identityId);
  return state.pending.filter(({ number }) => numbers.has(number));
}

/** Returns the mail of a decision. Does not read the mail if it was read already or if its content is not shown. */
async function mailOf(
  deps: Dependencies,
  { identityId, mails }: DecidedFilings,
  decision: PendingFiling,
): Promise<ReadMail> {
  const { inboxRevision } = decision;
  const known = mails.get(inboxRevision);
  if (known) return known;
  const event = await readReceivedAt(deps, identityId, inboxRevision);
  const isUnshown = !isMessage(decision) || isHeld(decision) || decision.quarantined !== undefined;
  const mail = isUnshown ? { event, parsed: emptyContent } : await readMail(deps, event);
  // If the mail was known to be lost at the decision, its alarm was logged then.
  if (decision.disposition !== "quarantined") alertLostMail(deps, [mail]);
  mails.set(inboxRevision, mail);
  return mail;
}

/**
 * Applies decisions on several threads concurrently, on each thread in the order of their filing numbers. Every step may be repeated: a
 * thread ignores a number that is not above its newest. Returns the decisions that failed, and those that must wait because an earlier one
 * on their thread failed. Throws if a mail cannot be read for now.
 */
async function applyInOrder(
  deps: Dependencies,
  decided: DecidedFilings,
  cause: Cause,
): Promise<{ failures: FilingFailure[]; waiting: PendingFiling[] }> {
  const { decisions } = decided;
  const failures: FilingFailure[] = [];
  const waiting: PendingFiling[] = [];
  const turns = new Map<string, Promise<unknown>>();
  const failedOn = new Set<string>();

  /**
   * Runs `work` after earlier work on the same thread. If an earlier mail failed there, does not run it, because no mail may be filed
   * behind a failed one.
   */
  const inTurn = async (decision: PendingFiling, work: () => Promise<void>): Promise<void> => {
    if (failedOn.has(decision.threadId)) return void waiting.push(decision);
    await work().catch((error: unknown) => {
      failedOn.add(decision.threadId);
      failures.push({ decision, error });
    });
  };

  for (const [index, decision] of decisions.entries()) {
    if (!changesThread(decision)) continue;
    if (decision.absorbs.length > 0) {
      // A merge changes several threads, so all earlier mails must be filed first.
      await waitForAll(turns.values());
      if (failures.length > 0) {
        waiting.push(...decisions.slice(index).filter(changesThread));
        break;
      }
      await inTurn(decision, () => mergeThreads(deps, decision, cause));
    }
    const before = turns.get(decision.threadId);
    const reading = mailOf(deps, decided, decision);
    // The thread's turn below awaits the reading; this handler only prevents an unhandled rejection until then.
    reading.catch(() => {});
    turns.set(
      decision.threadId,
      (async () => {
        await before;
        const mail = await reading;
        await inTurn(decision, () => putOnThread(deps, { decision, mail }, cause));
      })(),
    );
  }
  await waitForAll(turns.values());
  return { failures, waiting };
}

/** True if the mail is filed on its thread. A copy, of another mail or of ours, changes nothing there. */
const changesThread = ({ disposition }: PendingFiling): boolean =>
  disposition !== "duplicate" && disposition !== "own_copy";

/** Waits for all, then rejects with the first rejection, if any. */
async function waitForAll(turns: Iterable<Promise<unknown>>): Promise<void> {
  const ends = await Promise.allSettled(turns);
  const rejected = ends.find((end) => end.status === "rejected");
  if (rejected) throw rejected.reason;
}

/**
 * Freezes each absorbed thread, then transfers its data to the surviving thread, so that a caller redirected from a frozen thread finds
 * everything there. For a quarantined mail, skips merges that fail: a thread that cannot be read or frozen does not accept a send either.
 */
async function mergeThreads(deps: Dependencies, decision: PendingFiling, cause: Cause): Promise<void> {
  for (const absorbedId of decision.absorbs) {
    try {
      const freeze = { type: "FreezeThread", survivorId: decision.threadId, number: decision.number } as const;
      await commandExactThread(deps, { threadId: absorbedId, command: freeze }, cause);
      crashPoint("filing:frozen");
      await absorbThread(deps, absorbedId, cause);
      crashPoint("filing:absorbed");
    } catch (error) {
      if (decision.quarantined === undefined || isInfrastructure(error)) throw error;
    }
  }
}
