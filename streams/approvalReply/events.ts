import type { Event } from "../event.ts";
import type { InboxEvent } from "../inbox/events.ts";

/** A reply to an approval mail arrived. It is stored, and decides nothing. The workspace of the answered mail may be unknown. */
export type ApprovalReplyEvent = Event<
  "ApprovalReplyReceived",
  Omit<InboxEvent["data"], "workspaceId" | "identityId"> & { workspaceId: string | null; identityId: string | null }
>;

export const approvalReplyStream = (deliveryId: string): string => `approvalReply-${deliveryId}`;
