import type { FilingDecision } from "#streams/filing/events.ts";

/** Where the mail of this filing number belongs: the first opens the thread, unless something else is said. */
export const filingDecision = (number: number, different: Partial<FilingDecision> = {}): FilingDecision => ({
  number,
  deliveryId: `d${number}`,
  inboxRevision: number - 1,
  inboxPosition: number,
  disposition: "threaded",
  reason: null,
  messageId: `m${number}`,
  threadId: "t",
  opensThread: number === 1,
  absorbs: [],
  chainIds: [],
  rfcMessageId: "<m>",
  contentDigest: "c",
  reviewReason: null,
  bouncedAttemptId: null,
  ...different,
});
