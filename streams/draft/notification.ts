import { Rejected } from "../decider.ts";
import { unreachable } from "../unreachable.ts";
import { type Draft, requireStatus } from "./draft.ts";
import type { Asked, DraftEvent } from "./events.ts";

export type NotificationCommand =
  /** `throttleSeconds` 0: no throttle. Counted between requests. */
  | { type: "RequestNotify"; at: string; throttleSeconds: number }
  /** No decision about this version in time. */
  | { type: "EscalateDraft"; version: number; channelType: string }
  | { type: "AskApprovers"; asked: Asked }
  | { type: "RecordNotified"; notificationId: string }
  | { type: "RecordNotificationFailed"; notificationId: string; error: string; final: boolean };

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
    case "RecordNotified":
      return [{ type: "ApproversNotified", data: { notificationId: command.notificationId } }];
    case "RecordNotificationFailed": {
      const { notificationId, error, final } = command;
      return [{ type: "NotificationFailed", data: { notificationId, error, final } }];
    }
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

/** What a notification that reached somebody has answered: an event can ask for one on each channel. */
export const answeredBy = (causedBy: string, slot: Asked["channel"]["slot"]): string => `${causedBy} ${slot}`;

/** The notification a token belongs to, and what it decides, if the draft knows it. */
export function findToken(draft: Draft, tokenSha256: string): (Asked & { decision: "approve" | "reject" }) | undefined {
  for (const asked of Object.values(draft.notified.open)) {
    const token = asked.tokens.find((candidate) => candidate.sha256 === tokenSha256);
    if (token) return { ...asked, decision: token.decision };
  }
  return undefined;
}
