import type { Event } from "../event.ts";
import type { InboxEvent } from "../inbox/events.ts";

/** Somebody answered an approval mail. It is kept, and decides nothing. Whose mail it answered may not be known. */
export type ApprovalReplyEvent = Event<
  "ApprovalReplyReceived",
  Omit<InboxEvent["data"], "workspaceId" | "identityId"> & { workspaceId: string | null; identityId: string | null }
>;

export const approvalReplyStream = (deliveryId: string): string => `approvalReply-${deliveryId}`;
