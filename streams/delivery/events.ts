import type { Event } from "../event.ts";

/** A report about a mail after the provider accepted it. `evidence`: its source, as text. */
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
        /** New id for each call. Only the call that wrote this id may hand over the mail. */
        fence: string;
      }
    >
  /** The attempt is abandoned and will not be handed over. */
  | Event<
      "DeliveryAbandoned",
      {
        draftId: string;
        because: string;
        /** Failure code of the draft, set if no connection could be made. Counts as an attempt. */
        code?: "provider_unavailable" | "provider_credentials";
      }
    >
  | Event<
      "DeliveryNotHandedOver",
      {
        message: string;
        /** True if the service itself withheld the mail. This does not count as an attempt. */
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
        /** Seconds after which the provider accepts a retry; absent if the provider named no time. */
        retryAfterSeconds?: number;
      }
    >
  | Event<"DeliveryUnknown", { message: string }>
  /** The provider reports that it has the mail. Recorded only if its answer had not said so. */
  | Event<"DeliveryProcessed", DeliveryReport>
  | Event<"DeliveryDelivered", DeliveryReport>
  /** The provider will not deliver the mail. `wholeMail`: its only recipient was dropped. */
  | Event<"DeliveryDropped", DeliveryReport & { wholeMail: boolean }>
  | Event<"DeliveryBounced", DeliveryReport>
  | Event<"DeliveryComplained", DeliveryReport>
  /** The mail is sent under another Message-ID than ours, which then leads to its thread, too. */
  | Event<
      "DeliveryMessageIdLearned",
      { draftId: string; threadId: string; identityId: string /** With angle brackets. */; rfcMessageId: string }
    >
  | Event<
      "DeliverySettled",
      {
        outcome: "accepted" | "refused" | "unconfirmed";
        evidence: string;
        /** The draft of the attempt. */
        draftId: string;
      }
    >;

export const deliveryStream = (attemptId: string): string => `delivery-${attemptId}`;
