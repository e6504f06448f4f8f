import type { Event } from "../event.ts";

/** What became of a mail after the provider had taken it. `evidence`: who says so, in words. */
export type DeliveryReport = { draftId: string; threadId: string; messageId: string; evidence: string };

/** One attempt to hand over one mail. The stream has at most one `DeliveryStarted`, and only its writer may hand over. */
export type DeliveryEvent =
  | Event<
      "DeliveryStarted",
      {
        draftId: string;
        threadId: string;
        version: number;
        contentSha256: string;
        provider: string;
        rfcMessageId: string;
        /** The frozen MIME, in the blob store. */
        mimeSha256: string;
        instanceId: string;
        /** Fresh per call: only the call that wrote it may act on it. */
        fence: string;
      }
    >
  /** This attempt will not be handed over. */
  | Event<
      "DeliveryAbandoned",
      {
        draftId: string;
        because: string;
        /** There was no connection, and why, as the code with which the draft fails in the end: that counts as a try. */
        code?: "provider_unavailable" | "provider_credentials";
      }
    >
  | Event<
      "DeliveryNotHandedOver",
      {
        message: string;
        /** The service itself did not let it go: that counts as no try. */
        withheld?: true;
      }
    >
  | Event<"DeliveryAccepted", { response: string; providerId: string | null; rejectedRecipients: string[] }>
  | Event<
      "DeliveryRefused",
      {
        retryable: boolean;
        code: string;
        message: string;
        /** The provider takes it again after so long. Absent where it named no time. */
        retryAfterSeconds?: number;
      }
    >
  | Event<"DeliveryUnknown", { message: string }>
  /** The provider says that it has the mail. Recorded only where its answer had not told that yet. */
  | Event<"DeliveryProcessed", DeliveryReport>
  | Event<"DeliveryDelivered", DeliveryReport>
  /** The provider will not deliver it. `wholeMail`: it had one recipient, so nobody gets it. */
  | Event<"DeliveryDropped", DeliveryReport & { wholeMail: boolean }>
  | Event<"DeliveryBounced", DeliveryReport>
  | Event<"DeliveryComplained", DeliveryReport>
  /** The mail travels under another Message-ID than ours: that one leads to its thread, too. */
  | Event<
      "DeliveryMessageIdLearned",
      { draftId: string; threadId: string; identityId: string /** With angle brackets. */; rfcMessageId: string }
    >
  | Event<
      "DeliverySettled",
      {
        outcome: "accepted" | "refused" | "unconfirmed";
        evidence: string;
        /** Whose attempt it is. */
        draftId: string;
      }
    >;

export const deliveryStream = (attemptId: string): string => `delivery-${attemptId}`;
