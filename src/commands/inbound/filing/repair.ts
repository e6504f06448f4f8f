import { Unavailable } from "#src/eventStore/eventStore.ts";
import { type ParsedMail, unreadableMail } from "#src/mail/in/parsedMail.ts";
import { ThreadsAway } from "#src/platform/threadPool/faults.ts";
import type { Recorded } from "#streams/event.ts";
import type { PendingFiling } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { InboxEvent } from "#streams/inbox/events.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { countFailure, forgetFailures, isInfrastructure, isPermanent, reasonOf } from "./failures.ts";
import { smallestDecision } from "./smallestForm.ts";

/**
 * Records a decision in its smallest form, with an alarm, if it cannot be recorded in full. Returns undefined if another filer was faster.
 */
export async function recordSmallest(
  deps: Dependencies,
  { identityId, decision, error }: { identityId: string; decision: FilingDecision; error: unknown },
  cause: Cause,
): Promise<PendingFiling[] | undefined> {
  const quarantine = reasonOf(error);
  const decisions = [smallestDecision(decision, quarantine)];
  const command = { type: "DecideFiling", decisions, quarantine } as const;
  const { changed, state } = await deps.filings.handle(identityId, command, cause);
  if (!changed) return undefined;
  alertQuarantine(deps, { identityId, deliveryId: decision.deliveryId, error });
  return state.pending;
}

/** Returns true if `what` has failed so often that the mail must be the cause. */
function isEnough(deps: Pick<Dependencies, "filings" | "clock">, what: string, error: unknown): boolean {
  const { isTheLast, isOver } = countFailure(deps, what);
  if (!isPermanent(error) && !isTheLast && !isOver) return false;
  forgetFailures(deps, what);
  return true;
}

/** A decision that could not be applied, and the error. */
export type FilingFailure = { decision: PendingFiling; error: unknown };

/**
 * Decides to file a marker for a mail that cannot be recorded as decided: first on the mail's thread and, if that fails too, on a separate
 * thread. Threads that were merged for the mail stay merged. Throws the error if it may pass, or if the marker cannot be filed on a
 * separate thread either; the mail is then tried again.
 */
export async function quarantine(
  deps: Dependencies,
  identityId: string,
  { failure: { decision, error }, cause }: { failure: FilingFailure; cause: Cause },
): Promise<void> {
  const { number, deliveryId, quarantined = "as decided" } = decision;
  if (isInfrastructure(error) || quarantined === "apart") throw error;
  if (!isEnough(deps, `${identityId}/${number}/${quarantined}`, error)) throw error;
  const threadId = quarantined === "in place" ? deps.ids.uuid() : null;
  const reason = reasonOf(error);
  const { changed } = await deps.filings.handle(
    identityId,
    { type: "QuarantineMail", number, reason, threadId },
    cause,
  );
  if (changed) alertQuarantine(deps, { identityId, deliveryId, error });
}

/** Logs the alarm. The event is counted (metrics.ts), and the ledger shows the reason. */
function alertQuarantine(
  { log }: Pick<Dependencies, "log">,
  { identityId, deliveryId, error }: { identityId: string; deliveryId: string; error: unknown },
): void {
  log?.error({ identity: identityId, delivery: deliveryId, err: error }, "a mail cannot be recorded, quarantining it");
}

/**
 * Decides what to do after reading a mail failed. Throws the error if it may pass, and also for the first few tries of other errors. After
 * these the mail counts as unreadable, with an alarm, and is filed by its headers only, so that later mails can be filed. It stays
 * unreadable while mails read together with it are retried. Throws Unavailable while storage or the reader threads are unreachable.
 */
export function retryOrQuarantine(deps: Dependencies, event: Recorded<InboxEvent>, error: unknown): ParsedMail {
  if (error instanceof ThreadsAway) throw new Unavailable(error.message, { cause: error });
  if (!isOfThisMail(error)) throw error;
  const { isTheLast, isOver } = countFailure(deps, readingOf(event));
  if (!isTheLast && !isOver) throw error;
  if (isTheLast) {
    const { identityId: identity, deliveryId: delivery } = event.data;
    deps.log?.error({ identity, delivery, err: error }, "a mail cannot be read, quarantining it");
  }
  return unreadableMail("it could not be read");
}

/** Forgets the failures of a mail that was read. */
export const forgetReadFailures = (deps: Dependencies, event: Recorded<InboxEvent>): void =>
  forgetFailures(deps, readingOf(event));

const readingOf = ({ data, revision }: Recorded<InboxEvent>): string => `${data.identityId}/reading/${revision}`;

/** Returns true if the error concerns this mail only. SQLSTATEs of class XX report damaged data, here in the one row that was read. */
const isOfThisMail = (error: unknown): boolean =>
  !isInfrastructure(error) || /^XX/.test(String((error as { code?: unknown }).code));
