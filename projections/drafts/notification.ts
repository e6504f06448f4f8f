import type { Asked, DraftEvent, LinkClosure } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";

/** Which question a draft's notification_status is about. */
export type ShownQuestion = { id: string; slot: Asked["channel"]["slot"]; type: string };

/** How the approvers of a draft's newest version were reached, as far as that is known. */
type Notification = {
  status: string;
  notification_asked: ShownQuestion | null;
  /** none, sent, retrying or failed. */
  notification_state: string;
  /** The type of the channel that the state is about. */
  notification_channel: string | null;
  /** When the state began. */
  notification_at: string | Date | null;
  /** Why nobody was reached; null otherwise. */
  notification_error: string | null;
};

/** As a version begins: nothing is known of any question about it. */
export const notAsked: Omit<Notification, "status"> = {
  notification_asked: null,
  notification_state: "none",
  notification_channel: null,
  notification_at: null,
  notification_error: null,
};

/**
 * What an event tells of who was reached. It follows the newest question about the version, and the secondary channel's where that was asked:
 * a late try of the first one hides it no more. The state changes with an answer, not with the asking.
 */
export function applyNotification<Row extends Notification>(row: Row, event: Recorded<DraftEvent>): Row {
  const { at } = event.metadata;
  switch (event.type) {
    case "DraftEdited":
      return { ...row, ...notAsked };
    case "DraftReturnedToPending":
      // What a person took back for themselves leaves the question as it is.
      return event.data.withdrawn === undefined ? { ...row, notification_asked: null } : row;
    case "NotifyRequested":
      // What is asked next is shown, on either channel.
      return { ...row, notification_asked: null };
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

const closed: Record<LinkClosure, string> = {
  link_leaked: "link_leaked: an approval link of this draft was found in inbound mail, and was closed",
  wrong_codes: "wrong_codes: five wrong codes were typed, and the link was closed",
};

/** Nobody is tried again once the draft waits for nobody. */
export const notRetrying = <Row extends Notification>(row: Row): Row =>
  row.status !== "pending" && row.notification_state === "retrying" ? { ...row, notification_state: "failed" } : row;

function asked<Row extends Notification>(row: Row, { notificationId, channel }: Asked): Row {
  if (row.notification_asked?.slot === "secondary" && channel.slot === "primary") return row;
  return { ...row, notification_asked: { id: notificationId, slot: channel.slot, type: channel.type } };
}

type Answer = { state: string; error: string | null; at: string };

function answered<Row extends Notification>(row: Row, of: { notificationId: string }, answer: Answer): Row {
  if (row.notification_asked?.id !== of.notificationId) return row;
  return {
    ...row,
    notification_state: answer.state,
    notification_channel: row.notification_asked.type,
    notification_at: answer.at,
    notification_error: answer.error,
  };
}
