import { Rejected } from "../decider.ts";
import { unreachable } from "../unreachable.ts";
import { type Draft, requireStatus } from "./draft.ts";
import type { ApprovalRequest, ChatMessage, Decision, DraftEvent, LinkClosure } from "./events.ts";

export type NotificationCommand =
  /** `throttleSeconds`: minimum time between requests; 0 for none. */
  | { type: "RequestNotify"; at: string; throttleSeconds: number }
  /** No decision about this version was made in time. */
  | { type: "EscalateDraft"; version: number; channelType: string }
  | { type: "AskApprovers"; asked: ApprovalRequest }
  | { type: "RecordNotified"; notificationId: string; message?: ChatMessage | undefined }
  | { type: "RecordNotificationFailed"; notificationId: string; error: string; final: boolean; waits?: boolean }
  /** `messageId`: the inbound message that contained the link. */
  | { type: "CloseApprovalLink"; notificationId: string; because: LinkClosure; messageId?: string }
  /** Records a wrong code. The fifth closes the link. */
  | { type: "RefuseConfirmCode"; notificationId: string };

/** Wrong codes on one link before it closes. */
export const maxWrongCodes = 5;

export function decideNotification(command: NotificationCommand, draft: Draft): DraftEvent[] {
  switch (command.type) {
    case "RequestNotify":
      return requestNotify(command, draft);
    case "EscalateDraft": {
      const { version, channelType } = command;
      if (draft.status !== "pending" || version !== draft.version || draft.escalatedVersion >= version) return [];
      return [{ type: "DraftEscalated", data: { version, channelType } }];
    }
    case "AskApprovers":
      if (draft.status !== "pending" || command.asked.version !== draft.version) return [];
      return [{ type: "ApproversAsked", data: command.asked }];
    case "RecordNotified": {
      const { notificationId, message } = command;
      return [{ type: "ApproversNotified", data: { notificationId, ...(message && { message }) } }];
    }
    case "RecordNotificationFailed": {
      const { notificationId, error, final, waits } = command;
      if (draft.notified.failed.includes(notificationId)) return [];
      return [{ type: "NotificationFailed", data: { notificationId, error, final, ...(waits && { waits }) } }];
    }
    case "CloseApprovalLink":
      return closeLink(command, draft);
    case "RefuseConfirmCode":
      return refuseCode(command, draft);
    default:
      return unreachable(command);
  }
}

function requestNotify(command: Extract<NotificationCommand, { type: "RequestNotify" }>, draft: Draft): DraftEvent[] {
  requireStatus(draft, "notified about", "pending");
  const { requestedAt } = draft.notified;
  const readyAt = requestedAt === null ? 0 : Date.parse(requestedAt) + command.throttleSeconds * 1000;
  const waitMs = readyAt - Date.parse(command.at);
  if (waitMs > 0) {
    const retryAfter = Math.ceil(waitMs / 1000);
    throw new Rejected("rate_limited", `this draft's approvers have just been notified: wait ${retryAfter} s`, {
      retryAfter,
    });
  }
  return [{ type: "NotifyRequested", data: { at: command.at } }];
}

/**
 * Closes a link. Nothing if it decides nothing anyway: it is closed, its version was replaced, or the draft has ended. An approved draft
 * may return to pending, so its links still count. The first closing for a reason lets the version be asked about again; after the next
 * one, this link no longer counts as having reached an approver. Two links in one message are one closing.
 */
function closeLink(
  { notificationId, because, messageId }: Omit<Extract<NotificationCommand, { type: "CloseApprovalLink" }>, "type">,
  draft: Draft,
): DraftEvent[] {
  if (!isLive(draft, notificationId)) return [];
  const data = { notificationId, because, ...(messageId !== undefined && { messageId }) };
  const closed: DraftEvent = { type: "ApprovalLinkClosed", data };
  const before = closings(draft, because).filter(
    (earlier) => messageId === undefined || earlier.messageId !== messageId,
  );
  if (before.length === 0 || draft.status !== "pending") return [closed];
  const failed = { notificationId, error: closedForGood[because], final: true };
  return [closed, { type: "NotificationFailed", data: failed }];
}

const closedForGood: Record<LinkClosure, string> = {
  link_leaked:
    "link_leaked: approval links of this draft keep arriving in mail to its identity: stop forwarding them, then notify the approvers again with POST /v1/drafts/{id}/notify",
  wrong_codes:
    "wrong_codes: two links of this draft were closed after five wrong codes each: notify the approvers again with POST /v1/drafts/{id}/notify",
};

function refuseCode(
  { notificationId }: Extract<NotificationCommand, { type: "RefuseConfirmCode" }>,
  draft: Draft,
): DraftEvent[] {
  if (!isLive(draft, notificationId)) return [];
  const refused: DraftEvent = { type: "ConfirmCodeRefused", data: { notificationId } };
  const wrong = (draft.notified.wrongCodes[notificationId] ?? 0) + 1;
  return wrong < maxWrongCodes ? [refused] : [refused, ...closeLink({ notificationId, because: "wrong_codes" }, draft)];
}

/** True if a press on this notification's links can decide something, now or once the draft is back to pending. */
function isLive(draft: Draft, notificationId: string): boolean {
  const asked = draft.notified.open[notificationId];
  if (asked === undefined || asked.version !== draft.version) return false;
  if (draft.status !== "pending" && draft.status !== "approved") return false;
  return draft.notified.closed[notificationId] === undefined;
}

/** Returns the closed links of the draft's version with this reason, the first closing first. */
function closings(draft: Draft, because: LinkClosure): { notificationId: string; messageId: string | null }[] {
  return Object.entries(draft.notified.closed)
    .filter(([id, closed]) => closed.because === because && draft.notified.open[id]?.version === draft.version)
    .map(([notificationId, { messageId }]) => ({ notificationId, messageId }));
}

/** True if the closing of this link lets its version be asked about again: it is the first for its reason. */
export function reopensQuestion(draft: Draft, notificationId: string): boolean {
  const closed = draft.notified.closed[notificationId];
  return closed !== undefined && closings(draft, closed.because)[0]?.notificationId === notificationId;
}

/** A token's notification and decision. `closed`: why it decides nothing any more, null while it does. */
export type FoundToken = ApprovalRequest & { decision: Decision; closed: LinkClosure | null };

/** Returns the notification a token belongs to, and its decision, if the draft knows it. */
export function findToken(draft: Draft, tokenSha256: string): FoundToken | undefined {
  for (const asked of Object.values(draft.notified.open)) {
    const token = asked.tokens.find((candidate) => candidate.sha256 === tokenSha256);
    const closed = draft.notified.closed[asked.notificationId]?.because ?? null;
    if (token) return { ...asked, decision: token.decision, closed };
  }
  return undefined;
}

/** Refuses a decision by a closed link, whatever was read before. Throws Rejected link_closed. */
export function requireOpenLink(draft: Draft, tokenSha256: string | null): void {
  if (tokenSha256 === null || !findToken(draft, tokenSha256)?.closed) return;
  throw new Rejected("link_closed", "this link was closed: use the one in a newer mail");
}

/**
 * Names the event that caused a notification, and the notification's channel. A draft keeps this key once the notification has reached an
 * approver or failed for good, so that it is not sent again.
 */
export const answeredBy = (causedBy: string, slot: ApprovalRequest["channel"]["slot"]): string => `${causedBy} ${slot}`;

/** Returns the notifications about a version that reached approvers: accepted by their channel and not bounced. */
export const deliveredNotifications = ({ notified }: Draft, version: number): ApprovalRequest[] =>
  Object.values(notified.open).filter(
    ({ notificationId, version: about }) =>
      about === version && notified.reached.includes(notificationId) && !notified.failed.includes(notificationId),
  );

/** Returns the approval requests for the newest version on one channel whose links are open. */
export const openNotifications = (draft: Draft, slot: ApprovalRequest["channel"]["slot"]): ApprovalRequest[] =>
  deliveredNotifications(draft, draft.version).filter(
    ({ notificationId, channel }) => channel.slot === slot && draft.notified.closed[notificationId] === undefined,
  );

/** Returns the approval requests about the draft's newest version. */
export const requestsAbout = ({ version, notified: { open } }: Draft): ApprovalRequest[] =>
  Object.values(open).filter((asked) => asked.version === version);

/** Returns the channels that were asked about the draft's newest version so far, the first one first. */
export const askedSlots = (draft: Draft): ApprovalRequest["channel"]["slot"][] =>
  (["primary", "secondary"] as const).filter((slot) =>
    requestsAbout(draft).some(({ channel }) => channel.slot === slot),
  );
