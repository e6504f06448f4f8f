import type { Event } from "../event.ts";

/** A recipient of the mail that a report is about. `address`: as the mail has it. */
export type DeliveryRecipient = {
  address: string;
  /** The address that the mail was forwarded to, if the report names another one. */
  final?: string;
  /** Status code of RFC 3463, such as 5.1.1; null if the report has none. */
  code: string | null;
  /** The server's words on one line, at most 500 UTF-16 units; null if the report has none. */
  text: string | null;
};

/**
 * A report about a mail after the provider accepted it. `evidence`: its source, as text. `recipients`: those that it is about; absent if it
 * names none of the mail's.
 */
export type DeliveryReport = {
  draftId: string;
  threadId: string;
  messageId: string;
  evidence: string;
  recipients?: DeliveryRecipient[];
};

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
  /** `again`: set if a delivery was reported before, of another recipient. */
  | Event<"DeliveryDelivered", DeliveryReport & { again?: true }>
  /** The provider will not deliver the mail. `wholeMail`: its only recipient was dropped. `part`: as below. */
  | Event<"DeliveryDropped", DeliveryReport & { wholeMail: boolean; part?: true }>
  /** A server will try again. */
  | Event<"DeliveryDelayed", DeliveryReport>
  /** `part`: set unless every To of the mail has bounced or was dropped by now. */
  | Event<"DeliveryBounced", DeliveryReport & { part?: true }>
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
