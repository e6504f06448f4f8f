import { unreadableMail } from "#src/mail/in/parsedMail.ts";
import { storableLine } from "#src/mail/in/storable.ts";
import type { Recorded } from "#streams/event.ts";
import { isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { InboxEvent, MailHeaders } from "#streams/inbox/events.ts";

const maxAddressLength = 320;
const maxNameLength = 100;
const maxSubjectLength = 200;
const maxIdLength = 400;
/** More merges than one mail names threads are none that was decided here. */
const maxAbsorbs = 60;
const maxChainIds = 60;

/** A mail that cannot be recorded shows nothing of its content. Its bytes stay as they came. */
export const noContent = unreadableMail("it could not be recorded");

/** A mail with no more of its headers than always fits into an event. */
export const shortened = (event: Recorded<InboxEvent>): Recorded<InboxEvent> => ({
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
 * The same decision about a mail in a form that always fits: on the same thread, so that it makes stale what it would have made stale, and found
 * by those of its ids that can be recorded.
 */
export function smallestDecision(decision: FilingDecision, reason: string): FilingDecision {
  const { rfcMessageId, contentDigest, deliveryId, absorbs, chainIds } = decision;
  const isMessage = !isHeld(decision) && decision.disposition !== "duplicate";
  return {
    ...decision,
    ...(isMessage && { disposition: "quarantined" as const, reason }),
    rfcMessageId: fits(rfcMessageId) ? rfcMessageId : `<${deliveryId}@unrecordable.local>`,
    contentDigest: storableLine(contentDigest, maxIdLength),
    absorbs: absorbs.slice(0, maxAbsorbs),
    chainIds: chainIds.filter(fits).slice(0, maxChainIds),
    reviewReason: "a mail that could not be recorded",
  };
}

const fits = (id: string): boolean => id.length <= maxIdLength && storableLine(id, maxIdLength) === id;
