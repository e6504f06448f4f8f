import type { FilingDecision } from "#streams/filing/events.ts";

/** Makes the filing decision with this number: the first opens the thread, unless overridden. */
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
