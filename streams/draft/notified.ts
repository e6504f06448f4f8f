import { unreachable } from "../unreachable.ts";
import type { Draft, Notified } from "./draft.ts";
import type { Asked, DraftEvent } from "./events.ts";

type NotificationEvent = Extract<
  DraftEvent,
  {
    type:
      | "NotifyRequested"
      | "ApproversAsked"
      | "ApproversNotified"
      | "NotificationFailed"
      | "ApprovalLinkClosed"
      | "ConfirmCodeRefused";
  }
>;

/** What each event makes of what was shown to approvers. */
export function evolveNotified(notified: Notified, event: NotificationEvent): Notified {
  switch (event.type) {
    case "NotifyRequested":
      return { ...notified, requestedAt: event.data.at };
    case "ApproversAsked":
      return { ...notified, open: { ...notified.open, [event.data.notificationId]: event.data } };
    case "ApproversNotified": {
      const { notificationId } = event.data;
      const asked = notified.open[notificationId];
      if (!asked) return notified;
      const answered = [...notified.answered, answeredBy(asked.causedBy, asked.channel.slot)];
      return { ...notified, answered, reached: [...notified.reached, notificationId] };
    }
    case "NotificationFailed": {
      const { notificationId, final } = event.data;
      return final ? { ...notified, failed: [...notified.failed, notificationId] } : notified;
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

/** What a notification that reached somebody has answered: an event can ask for one on each channel. */
export const answeredBy = (causedBy: string, slot: Asked["channel"]["slot"]): string => `${causedBy} ${slot}`;

/** The questions about a version that are with its approvers: taken by their channel and not come back. */
export const delivered = ({ notified }: Draft, version: number): Asked[] =>
  Object.values(notified.open).filter(
    ({ notificationId, version: about }) =>
      about === version && notified.reached.includes(notificationId) && !notified.failed.includes(notificationId),
  );

/** Those of the newest version on one channel whose links decide. */
export const deciding = (draft: Draft, slot: Asked["channel"]["slot"]): Asked[] =>
  delivered(draft, draft.version).filter(
    ({ notificationId, channel }) => channel.slot === slot && draft.notified.closed[notificationId] === undefined,
  );
