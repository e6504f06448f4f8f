import { Unavailable } from "#src/eventStore/eventStore.ts";
import { unreadableMail } from "#src/mail/in/parsedMail.ts";
import { ThreadsAway } from "#src/threadPool/faults.ts";
import type { Dependencies } from "../dependencies.ts";
import { countFailure, forgetFailures } from "./failures.ts";
import type { ReadMail, Received } from "./readMail.ts";
import { isInfrastructure } from "./unrecordable.ts";

/** What its ledger shows; the error itself is the log's. */
const reason = "it could not be read";

/**
 * What `read` answers of a mail. Throws where it fails for reasons that may pass, a few times also for others; then the mail is unreadable,
 * with an alarm: it is filed by its headers alone, and those behind it go on. Throws Unavailable as long as storage or the readers are away.
 * Who gave up on a mail goes on to do so until it is read: others that are read with it may still be waited for.
 */
export async function untilGivenUp(
  deps: Dependencies,
  event: Received,
  read: () => Promise<ReadMail>,
): Promise<ReadMail> {
  const { identityId, deliveryId } = event.data;
  const what = `${identityId}/reading/${event.revision}`;
  try {
    const mail = await read();
    forgetFailures(deps, what);
    return mail;
  } catch (error) {
    if (error instanceof ThreadsAway) throw new Unavailable(error.message, { cause: error });
    if (!isOfThisMail(error)) throw error;
    const { isTheLast, isOver } = countFailure(deps, what);
    if (!isTheLast && !isOver) throw error;
    if (isTheLast) {
      deps.log?.error(
        { identity: identityId, delivery: deliveryId, err: error },
        "a mail cannot be read, quarantining it",
      );
    }
    return { event, parsed: unreadableMail(reason) };
  }
}

/** SQLSTATEs of class XX tell of damage: here of the one row that was asked for. */
const isOfThisMail = (error: unknown): boolean =>
  !isInfrastructure(error) || /^XX/.test(String((error as { code?: unknown }).code));
