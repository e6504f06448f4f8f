import { InvalidAppend, StreamMoved, Unavailable } from "#src/eventStore/eventStore.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import { Rejected } from "#streams/decider.ts";
import type { PendingFiling } from "#streams/filing/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { countFailure, forgetFailures } from "./failures.ts";

const maxReasonLength = 500;

/** What went wrong with something outside: the log, the database, a disk. It says nothing about a mail, and is waited for. */
export function isInfrastructure(error: unknown): boolean {
  if (error instanceof Unavailable || error instanceof StreamMoved) return true;
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  if (syscall !== undefined) return true;
  // SQLSTATEs; classes 22 and 54 are about the data: wrong, or too much of it.
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && !/^(22|54)/.test(code);
}

/** A mail that was read when it was decided about, and cannot be any more. */
export class NoLongerReadable extends Error {
  override readonly name = "NoLongerReadable";
}

/** True for an error that another try cannot cure. */
export const isForGood = (error: unknown): boolean =>
  error instanceof InvalidAppend || error instanceof Rejected || error instanceof NoLongerReadable;

/** What the ledger shows; the error itself is the log's. */
export function reasonOf(error: unknown): string {
  if (error instanceof InvalidAppend) return "it could not be recorded: it does not fit into an event";
  if (error instanceof NoLongerReadable) return storableLine(error.message, maxReasonLength);
  if (error instanceof Rejected) return storableLine(`it could not be recorded: ${error.message}`, maxReasonLength);
  return "it could not be recorded";
}

/** True once it has failed often enough to be the mail's fault. */
function isEnough(deps: Pick<Dependencies, "filings" | "clock">, what: string, error: unknown): boolean {
  const { isTheLast, isOver } = countFailure(deps, what);
  if (!isForGood(error) && !isTheLast && !isOver) return false;
  forgetFailures(deps, what);
  return true;
}

/** A decision, and why it could not be carried out. */
export type Failure = { decision: PendingFiling; error: unknown };

/**
 * Has a mail that cannot be recorded as decided filed by a marker: first in place, and if that fails too on a thread of its own. What was
 * merged for it stays merged. Throws the error where it may pass, and where not even a thread of its own takes the marker: the mail is tried again.
 */
export async function quarantine(
  deps: Dependencies,
  identityId: string,
  { failure: { decision, error }, cause }: { failure: Failure; cause: Cause },
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
  if (changed) tellOfQuarantine(deps, { identityId, deliveryId, error });
}

/** The alarm: the line of the log. The event is counted (metrics.ts), and the ledger shows the reason. */
export function tellOfQuarantine(
  { log }: Pick<Dependencies, "log">,
  { identityId, deliveryId, error }: { identityId: string; deliveryId: string; error: unknown },
): void {
  log?.error({ identity: identityId, delivery: deliveryId, err: error }, "a mail cannot be recorded, quarantining it");
}
