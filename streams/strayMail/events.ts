import type { Event } from "../event.ts";
import type { InboxEvent } from "../inbox/events.ts";

/** Mail that a provider had accepted before it asked us, and that belongs in no inbox. It is kept once, and goes no further. */
export type StrayMailEvent =
  /** Nobody has the envelope's address. `workspaceId`: whose domain it is on, null if no verified one. */
  | Event<
      "UnknownRecipientReceived",
      Omit<InboxEvent["data"], "workspaceId" | "identityId"> & { workspaceId: string | null }
    >
  /** A provider's post that no mail could be read from, or whose mail cannot be recorded. */
  | Event<
      "PostQuarantined",
      {
        deliveryId: string;
        /** Why, in words for the operator. */
        reason: string;
        /** The body of the post, whole. */
        rawSha256: string;
        sizeBytes: number;
        /** Its Content-Type, which has what the body's parts are divided by; null without one. */
        contentType: string | null;
        /** As far as the post could be read. */
        envelope: { from: string; to: string[] } | null;
      }
    >;

/** The id follows from the bytes and the recipient, so that a post that comes again comes to the same stream. */
export const strayMailStream = (deliveryId: string): string => `strayMail-${deliveryId}`;
