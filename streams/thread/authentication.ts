import { hasEntry } from "../idMap.ts";
import { isMachines } from "../inbox/words.ts";
import type { ThreadEvent } from "./events.ts";
import type { Thread } from "./thread.ts";

/** What was found out about a mail's sender, which comes after the mail. */
export type ThreadAuthentication = {
  type: "AuthenticateMessage";
  message: Extract<ThreadEvent, { type: "MessageAuthenticated" }>["data"];
};

/** Whether it is still to come of the mail with this filing number. */
export const awaitsAuthentication = ({ unauthenticated }: Thread, number: number): boolean =>
  hasEntry(unauthenticated, String(number));

/**
 * Once per filing. A mail that joined a thread asks for review if DMARC does not pass, unless the domain has no policy
 * and its address is proven by SPF or DKIM all the same: else nearly every small domain's answers would. A machine's mail
 * is no person's word, and asks for nothing; nor does a blocked contact's.
 */
export function authenticateMessage({ message }: ThreadAuthentication, thread: Thread): ThreadEvent[] {
  if (!awaitsAuthentication(thread, message.number)) return [];
  const events: ThreadEvent[] = [{ type: "MessageAuthenticated", data: message }];
  const automatic = isMachines(message.classification);
  const quiet = automatic || message.contactStatus === "blocked";
  const joined = message.number !== thread.openingNumber;
  if (joined && !quiet && !message.authentication.aligned && !thread.needsReview) {
    events.push({
      type: "ThreadReviewSet",
      data: { needsReview: true, reason: "a sender whose address is not proven" },
    });
  }
  return events;
}
