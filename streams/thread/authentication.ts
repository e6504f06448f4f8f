import { hasEntry } from "../idMap.ts";
import { opensThread } from "../inbox/mailKinds.ts";
import type { ThreadEvent } from "./events.ts";
import type { Thread } from "./thread.ts";

/** Result of a mail's sender authentication, which follows the mail. */
export type ThreadAuthentication = {
  type: "AuthenticateMessage";
  message: Extract<ThreadEvent, { type: "MessageAuthenticated" }>["data"];
};

/** True if the authentication of the mail with this filing number is outstanding. */
export const awaitsAuthentication = ({ unauthenticated }: Thread, number: number): boolean =>
  hasEntry(unauthenticated, String(number));

/**
 * Records the result, once per filing. A mail that joined a thread requires review if DMARC does not pass, unless the domain has no policy
 * and its address is proven by SPF or DKIM: otherwise nearly every reply from a small domain would. Mail that is nobody's word, and a
 * blocked contact's, never requires review.
 */
export function authenticateMessage({ message }: ThreadAuthentication, thread: Thread): ThreadEvent[] {
  if (!awaitsAuthentication(thread, message.number)) return [];
  // Filed by hand meanwhile: the result is that of its sender's word, for which it is recorded next.
  if (message.kind !== "filed_by_hand" && hasEntry(thread.filedByHand, message.messageId)) return [];
  const events: ThreadEvent[] = [{ type: "MessageAuthenticated", data: message }];
  const quiet = !opensThread(message) || message.contactStatus === "blocked";
  const joined = message.number !== thread.openingNumber;
  if (joined && !quiet && !message.authentication.aligned && !thread.needsReview) {
    events.push({
      type: "ThreadReviewSet",
      data: { needsReview: true, reason: "a sender whose address is not proven" },
    });
  }
  return events;
}
