import { unreadableMail } from "#src/mail/in/parsedMail.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import type { Recorded } from "#streams/event.ts";
import { isHeld, isMessage } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { InboxEvent, MailHeaders } from "#streams/inbox/events.ts";

const maxAddressLength = 320;
const maxNameLength = 100;
const maxSubjectLength = 200;
const maxIdLength = 400;
/** Maximum number of merges to keep: more than a filing decision can contain. */
const maxAbsorbs = 60;
const maxChainIds = 60;

/** Content for a mail that cannot be recorded. It shows nothing; the mail's raw bytes are kept. */
export const emptyContent = unreadableMail("it could not be recorded");

/** Shortens a mail's headers so that they always fit into an event. */
export const shortenHeaders = (event: Recorded<InboxEvent>): Recorded<InboxEvent> => ({
  ...event,
  data: { ...event.data, headers: shortenedHeaders(event.data.headers) },
});

function shortenedHeaders(headers: MailHeaders): MailHeaders {
  const { messageId, from, subject, classification, contentDigest } = headers;
  return {
    messageId: storableLine(messageId, maxIdLength),
    messageIdDerived: headers.messageIdDerived,
    threadIds: [],
    inReplyTo: null,
    references: [],
    from: from && {
      name: storableLine(from.name, maxNameLength),
      address: storableLine(from.address, maxAddressLength),
    },
    fromCount: headers.fromCount,
    replyTo: [],
    to: [],
    cc: [],
    subject: storableLine(subject, maxSubjectLength),
    date: null,
    classification,
    contentDigest,
    reportedMessageIds: [],
  };
}

/**
 * Reduces a decision to a form that always fits into an event. The form keeps the thread, so that the same drafts become stale, and the ids
 * that can be recorded.
 */
export function smallestDecision(decision: FilingDecision, reason: string): FilingDecision {
  const { rfcMessageId, contentDigest, deliveryId, absorbs, chainIds } = decision;
  const isShown = isMessage(decision) && !isHeld(decision);
  return {
    ...decision,
    ...(isShown && { disposition: "quarantined" as const, reason }),
    rfcMessageId: fits(rfcMessageId) ? rfcMessageId : `<${deliveryId}@unrecordable.local>`,
    contentDigest: storableLine(contentDigest, maxIdLength),
    absorbs: absorbs.slice(0, maxAbsorbs),
    chainIds: chainIds.filter(fits).slice(0, maxChainIds),
    reviewReason: "a mail that could not be recorded",
  };
}

const fits = (id: string): boolean => id.length <= maxIdLength && storableLine(id, maxIdLength) === id;
