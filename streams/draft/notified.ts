import { unreachable } from "../unreachable.ts";
import type { Notified } from "./draft.ts";
import type { DraftEvent } from "./events.ts";
import { answeredBy } from "./notification.ts";

type NotificationEvent = Extract<
  DraftEvent,
  {
    type:
      | "NotifyRequested"
      | "RequestsRepeated"
      | "RequestsExpired"
      | "ApproversAsked"
      | "ApproversNotified"
      | "NotificationFailed"
      | "ApprovalLinkClosed"
      | "ConfirmCodeRefused";
  }
>;

/** Applies an event to the notifications of approvers. */
export function evolveNotified(notified: Notified, event: NotificationEvent): Notified {
  switch (event.type) {
    case "NotifyRequested": {
      const { at, notificationId } = event.data;
      const { renewedAt } = notified;
      return {
        ...notified,
        requestedAt: at,
        renewedAt: notificationId === undefined ? renewedAt : { ...renewedAt, [notificationId]: at },
      };
    }
    case "RequestsRepeated":
      return { ...notified, repeated: event.data };
    case "RequestsExpired":
      return { ...notified, expired: true };
    case "ApproversAsked":
      return { ...notified, expired: false, open: { ...notified.open, [event.data.notificationId]: event.data } };
    case "ApproversNotified": {
      const { notificationId, message } = event.data;
      const { answered, reached, messages } = notified;
      return {
        ...notified,
        answered: [...answered, ...answers(notified, notificationId)],
        reached: [...reached, notificationId],
        messages: message ? { ...messages, [notificationId]: message } : messages,
      };
    }
    case "NotificationFailed": {
      const { notificationId, final } = event.data;
      if (!final) return notified;
      const { answered, failed } = notified;
      return {
        ...notified,
        answered: [...answered, ...answers(notified, notificationId)],
        failed: [...failed, notificationId],
      };
    }
    case "ApprovalLinkClosed": {
      const { notificationId, because, messageId = null } = event.data;
      return { ...notified, closed: { ...notified.closed, [notificationId]: { because, messageId } } };
    }
    case "ConfirmCodeRefused": {
      const { notificationId } = event.data;
      const wrong = (notified.wrongCodes[notificationId] ?? 0) + 1;
      return { ...notified, wrongCodes: { ...notified.wrongCodes, [notificationId]: wrong } };
    }
    default:
      return unreachable(event);
  }
}

function answers({ open, answered }: Notified, notificationId: string): string[] {
  const asked = open[notificationId];
  const answer = asked && answeredBy(asked.causedBy, asked.channel.slot);
  return answer === undefined || answered.includes(answer) ? [] : [answer];
}
