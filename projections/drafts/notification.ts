import type { ApprovalRequest, DraftEvent, LinkClosure } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";

/** The notification that a draft's notification_status describes. */
export type ShownQuestion = { id: string; slot: ApprovalRequest["channel"]["slot"]; type: string };

/** Notification state of a draft's newest version, as far as known. */
type Notification = {
  status: string;
  notification_asked: ShownQuestion | null;
  /** State: none, sent, retrying, failed or expired. */
  notification_state: string;
  /** Type of the channel that the state describes. */
  notification_channel: string | null;
  /** Time when the state began. */
  notification_at: string | Date | null;
  /** Error why no approver was reached; null otherwise. */
  notification_error: string | null;
};

/** State of a new version, about which no notification is known. */
export const noNotification: Omit<Notification, "status"> = {
  notification_asked: null,
  notification_state: "none",
  notification_channel: null,
  notification_at: null,
  notification_error: null,
};

/**
 * Applies an event to the notification state. It follows the newest notification about the version, and the secondary channel's once that
 * was asked: a late attempt of the first channel no longer hides it. The state changes with a result, not with the request.
 */
export function applyNotification<Row extends Notification>(row: Row, event: Recorded<DraftEvent>): Row {
  const { at } = event.metadata;
  switch (event.type) {
    case "DraftEdited":
      return { ...row, ...noNotification };
    case "DraftReturnedToPending":
      // An undone approval does not affect the notification.
      return event.data.withdrawn === undefined ? { ...row, notification_asked: null } : row;
    case "NotifyRequested":
    case "RequestsRepeated":
      // The next notification is shown, on either channel.
      return { ...row, notification_asked: null };
    case "RequestsExpired":
      // If nobody was reached, the reason says more than the time.
      return {
        ...row,
        notification_state: "expired",
        notification_at: at,
        notification_error: row.notification_error ?? expired,
      };
    case "ApproversAsked":
      return asked(row, event.data);
    case "ApproversNotified":
      return answered(row, event.data, { state: "sent", error: null, at });
    case "NotificationFailed": {
      const { final, error } = event.data;
      return answered(row, event.data, { state: final ? "failed" : "retrying", error, at });
    }
    case "ApprovalLinkClosed":
      return answered(row, event.data, { state: "retrying", error: closed[event.data.because], at });
    default:
      return row;
  }
}

const expired =
  "the requests ran out without a decision: decide in the console, or notify the approvers again with POST /v1/drafts/{id}/notify";

const closed: Record<LinkClosure, string> = {
  link_leaked: "link_leaked: an approval link of this draft was found in inbound mail, and was closed",
  wrong_codes: "wrong_codes: five wrong codes were typed, and the link was closed",
};

/** Ends the retries once the draft no longer waits for a decision. */
export const withoutRetry = <Row extends Notification>(row: Row): Row =>
  row.status !== "pending" && row.notification_state === "retrying" ? { ...row, notification_state: "failed" } : row;

function asked<Row extends Notification>(row: Row, { notificationId, channel }: ApprovalRequest): Row {
  if (row.notification_asked?.slot === "secondary" && channel.slot === "primary") return row;
  return { ...row, notification_asked: { id: notificationId, slot: channel.slot, type: channel.type } };
}

type NotificationResult = { state: string; error: string | null; at: string };

function answered<Row extends Notification>(row: Row, of: { notificationId: string }, answer: NotificationResult): Row {
  if (row.notification_asked?.id !== of.notificationId) return row;
  return {
    ...row,
    notification_state: answer.state,
    notification_channel: row.notification_asked.type,
    notification_at: answer.at,
    notification_error: answer.error,
  };
}
