import type { ThreadCommand } from "#streams/thread/decider.ts";
import type { InboundMessage, ThreadEvent, ThreadStatus } from "#streams/thread/events.ts";
import { inboundMessage } from "./index.ts";

export const opening = {
  workspaceId: "workspace",
  identityId: "identity",
  subject: "s",
  contactEmail: null,
  contactId: null,
};
export const opened: ThreadEvent = { type: "ThreadOpened", data: opening };
export const received = (number: number, different: Partial<InboundMessage> = {}): ThreadEvent => ({
  type: "MessageReceived",
  data: inboundMessage(number, different),
});
export const file = (number: number, different: Partial<InboundMessage> = {}): ThreadCommand => ({
  type: "FileMessage",
  message: inboundMessage(number, different),
  opens: opening,
  reviewReason: null,
});
export const claimOf = (attemptId: string) => ({
  draftId: "draft",
  version: 1,
  contentSha256: "hash",
  attemptId,
  quotaStream: "quota-w-lifetime",
});
export const claim = (attemptId: string, basedOnNumber: number, replaces: string | null = null): ThreadCommand => ({
  type: "ClaimSend",
  claim: claimOf(attemptId),
  basedOnNumber,
  replaces,
});
export const claimed = (attemptId: string, replaces: string | null = null): ThreadEvent => ({
  type: "SendClaimed",
  data: { ...claimOf(attemptId), replaces },
});
export const noted = (status: "pending" | "approved" | "closed", revision: number, draftId = "draft"): ThreadEvent => ({
  type: "DraftNoted",
  data: { draftId, status, revision },
});
export const status = (now: ThreadStatus, because = "test"): ThreadEvent => ({
  type: "ThreadStatusChanged",
  data: { status: now, because },
});
export const review = (reason: string): ThreadEvent => ({
  type: "ThreadReviewSet",
  data: { needsReview: true, reason },
});
export const mailSent = {
  draftId: "draft",
  attemptId: "a1",
  messageId: "answer",
  rfcMessageId: "<o>",
  to: ["ann@customer.example"],
};
/** The history of a thread that mail number 3 opened. */
export const base = [opened, received(3)];
