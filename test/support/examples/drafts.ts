import type { ApprovalRequest, DraftEvent, LinkClosure } from "#streams/draft/events.ts";
import { draftContent } from "#test/support/draftContent.ts";

type Data<Type extends DraftEvent["type"]> = Extract<DraftEvent, { type: Type }>["data"];
type DraftEventOf<Type extends DraftEvent["type"]> = Extract<DraftEvent, { type: Type }>;

const stored = { content: draftContent(), contentBlob: null };
const written = { ...stored, htmlRemoved: [] };

export const submitted = (different: Partial<Data<"DraftSubmitted">> = {}): DraftEventOf<"DraftSubmitted"> => ({
  type: "DraftSubmitted",
  data: {
    ...written,
    workspaceId: "workspace",
    threadId: "thread",
    identityId: "identity",
    basedOnMessageId: "message",
    basedOnNumber: 1,
    answers: { threadId: "thread", revision: 1 },
    messageId: "answer",
    contentSha256: "hash 1",
    rationale: null,
    metadata: null,
    staleWarning: false,
    autoApproved: false,
    ...different,
  },
});

/** Reason of a return to pending because of the limit of answers (streams/answeredAddress/looping.ts). */
export const overLimit =
  "10 answers to this address were sent within an hour that no person approved, which is the limit: let a person approve this one, or send it after 2026-11-29T15:36:10.695Z";

export const edited = (version: number, different: Partial<Data<"DraftEdited">> = {}): DraftEventOf<"DraftEdited"> => ({
  type: "DraftEdited",
  data: {
    ...written,
    version,
    contentSha256: `hash ${version}`,
    rationale: null,
    changedFields: ["subject"],
    because: "edit",
    ...different,
  },
});

/** A version made by the service itself, after its identity was changed. */
export const refreshed = (version: number): DraftEventOf<"DraftEdited"> =>
  edited(version, { changedFields: ["identity"], because: "identity_changed" });

export const approved = (
  version: number,
  different: Partial<Data<"DraftApproved">> = {},
): DraftEventOf<"DraftApproved"> => ({
  type: "DraftApproved",
  data: { version, contentSha256: `hash ${version}`, sendRequested: false, tokenSha256: null, ...different },
});

export const rejected = (version: number): DraftEventOf<"DraftRejected"> => ({
  type: "DraftRejected",
  data: { version, reason: null, tokenSha256: null },
});

export const queued = (version: number, different: Partial<Data<"DraftQueued">> = {}): DraftEventOf<"DraftQueued"> => ({
  type: "DraftQueued",
  data: {
    ...stored,
    attemptId: "attempt 1",
    version,
    contentSha256: `hash ${version}`,
    threadId: "thread",
    identityId: "identity",
    messageId: "answer",
    quotaStream: "quota-workspace-lifetime",
    reservationId: "attempt 1",
    authorisation: { kind: "approval", approvedVersion: version },
    ...different,
  },
});

export const requeued: DraftEventOf<"DraftRequeued"> = {
  type: "DraftRequeued",
  data: { attemptId: "attempt 2", replaces: "attempt 1", tries: 1 },
};

export const markedStale: DraftEventOf<"DraftMarkedStale"> = {
  type: "DraftMarkedStale",
  data: { newMessageId: "newer" },
};

export const sent = (attemptId = "attempt 1"): DraftEventOf<"DraftSent"> => ({
  type: "DraftSent",
  data: { attemptId, rfcMessageId: "<ours@agents.localhost>", sentAt: "2026-01-01T12:00:00.000Z" },
});

export const failed = (code = "internal"): DraftEventOf<"DraftFailed"> => ({
  type: "DraftFailed",
  data: { attemptId: "attempt 1", code, message: "no" },
});

/** A request to approvers. Its tokens are hashed as `<notification> approve` and `<notification> reject`. */
export const asked = (
  notificationId: string,
  {
    slot = "primary",
    type = "email",
    address = `${slot}@approvers.example`,
    ...different
  }: Partial<ApprovalRequest> & Partial<ApprovalRequest["channel"]> = {},
): DraftEventOf<"ApproversAsked"> => ({
  type: "ApproversAsked",
  data: {
    notificationId,
    causedBy: `cause of ${notificationId}`,
    version: 1,
    contentSha256: "hash 1",
    channel: { slot, type, address },
    tokens: (["approve", "reject"] as const).map((decision) => ({ sha256: `${notificationId} ${decision}`, decision })),
    expiresAt: "2026-01-04T12:00:00.000Z",
    ...different,
  },
});

export const reached = (notificationId: string): DraftEventOf<"ApproversNotified"> => ({
  type: "ApproversNotified",
  data: { notificationId },
});

export const notReached = (
  notificationId: string,
  different: Partial<Data<"NotificationFailed">> = {},
): DraftEventOf<"NotificationFailed"> => ({
  type: "NotificationFailed",
  data: { notificationId, error: "550 no such user", final: true, ...different },
});

export const closed = (
  notificationId: string,
  because: LinkClosure,
  messageId?: string,
): DraftEventOf<"ApprovalLinkClosed"> => ({
  type: "ApprovalLinkClosed",
  data: { notificationId, because, ...(messageId !== undefined && { messageId }) },
});

export const refusedCode = (notificationId: string): DraftEventOf<"ConfirmCodeRefused"> => ({
  type: "ConfirmCodeRefused",
  data: { notificationId },
});
