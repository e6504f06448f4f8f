import { isMadeHere } from "#src/mail/in/messageIds.ts";

/** The reference headers of an answer, by which Gmail, Outlook and Apple Mail show both messages in one conversation. */
export type ThreadHeaders = { in_reply_to: string | null; references: string[] };

/** Maximum number of ids in References: enough for every mail program, and far below the limits of relays. */
const maxReferences = 50;

// Printable ASCII without a space: a header cannot carry anything else unchanged. 900 leaves room in a line of 998.
const sendable = /^<[\x21-\x3b\x3d\x3f-\x7e]{1,900}>$/;

/**
 * Returns the headers for answering a message: its Message-ID, and its References with that id at the end. Ids include their angle
 * brackets. An id derived here, for a mail without one, is left out: the customer's mail program never saw it.
 */
export const answerHeaders = (answered: { messageId: string; references: readonly string[] }): ThreadHeaders => ({
  in_reply_to: sendable.test(answered.messageId) && !isMadeHere(answered.messageId) ? answered.messageId : null,
  references: boundReferences([...answered.references, answered.messageId].filter((id) => !isMadeHere(id))),
});

/**
 * Returns distinct ids, at most 50: the first, which names the conversation, and the newest. Ids that no header can hold are left out.
 */
export function boundReferences(references: readonly string[]): string[] {
  const newestFirst = [...new Set(references.toReversed())].filter((id) => sendable.test(id));
  const ids = newestFirst.reverse();
  return ids.length <= maxReferences ? ids : [ids[0]!, ...ids.slice(1 - maxReferences)];
}
