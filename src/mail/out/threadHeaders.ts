import { isMadeHere } from "#src/mail/in/messageIds.ts";

/** What an answer says of the message it answers, so that Gmail, Outlook and Apple Mail show both in one conversation. */
export type ThreadHeaders = { in_reply_to: string | null; references: string[] };

/** Enough for every mail program, and far from the limits of relays. */
const maxReferences = 50;

// Printable ASCII without a space: anything else cannot appear in a header unchanged. 900 leaves room in a line of 998.
const sendable = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,900}>$/;

/**
 * The headers for answering a message: its Message-ID, and its References with that id at the end. Ids carry their angle brackets.
 * An id that was made here, for a mail without one, stays here: the customer's mail program never saw it.
 */
export const answerHeaders = (answered: { messageId: string; references: readonly string[] }): ThreadHeaders => ({
  in_reply_to: sendable.test(answered.messageId) && !isMadeHere(answered.messageId) ? answered.messageId : null,
  references: boundReferences([...answered.references, answered.messageId].filter((id) => !isMadeHere(id))),
});

/** Each id once, at most 50 of them: the first, which names the conversation, and the newest. Ids that no header can hold are left out. */
export function boundReferences(references: readonly string[]): string[] {
  const newestFirst = [...new Set(references.toReversed())].filter((id) => sendable.test(id));
  const ids = newestFirst.reverse();
  return ids.length <= maxReferences ? ids : [ids[0]!, ...ids.slice(1 - maxReferences)];
}
