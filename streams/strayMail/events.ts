import type { Event } from "../event.ts";
import type { InboxEvent } from "../inbox/events.ts";

/** Mail that a provider accepted without asking us, and that belongs in no inbox. It is stored once and not processed further. */
export type StrayMailEvent =
  /** No identity has the envelope's address. `workspaceId`: the workspace whose verified domain it is on, null if none. */
  | Event<
      "UnknownRecipientReceived",
      Omit<InboxEvent["data"], "workspaceId" | "identityId"> & { workspaceId: string | null }
    >
  /** A provider's POST from which no mail could be read, or whose mail cannot be recorded. */
  | Event<
      "PostQuarantined",
      {
        deliveryId: string;
        /** Reason, as a text for the operator. */
        reason: string;
        /** SHA-256 of the whole body of the POST. */
        rawSha256: string;
        sizeBytes: number;
        /** Content-Type of the post, with the boundary of the body's parts; null if absent. */
        contentType: string | null;
        /** Envelope, as far as the POST could be read. */
        envelope: { from: string; to: string[] } | null;
      }
    >;

/** Stream name. `deliveryId` is derived from the mail's bytes and the recipient, so that a repeated POST uses the same stream. */
export const strayMailStream = (deliveryId: string): string => `strayMail-${deliveryId}`;
