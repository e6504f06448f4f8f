import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import { joinPhrases, listInWords } from "#src/commands/drafts/life/phrases.ts";
import type { DeliveryReport } from "#streams/delivery/events.ts";
import type { Fact, StepWords } from "./stepParts.ts";
import { fact } from "./stepParts.ts";
import { unknownEvent } from "./unknownEvent.ts";

type OfDelivery = Extract<LifeEvent, { type: `Delivery${string}` }>;

const providers: Partial<Record<string, string>> = {
  smtp: "by SMTP",
  sendgrid: "to SendGrid",
  outbox: "to the test outbox, which delivers nothing",
};

/** Describes a delivery event. */
export function deliveryWords(event: OfDelivery): StepWords {
  switch (event.type) {
    case "DeliveryStarted": {
      const { version, contentSha256, provider, rfcMessageId, mimeSha256 } = event.data;
      return {
        what: joinPhrases`The hand-over of version ${version} began, ${providers[provider] ?? "to a provider"}`,
        facts: [
          { label: "Content hash", value: [{ exact: contentSha256 }] },
          { label: "Message-ID", value: [{ exact: rfcMessageId }] },
          { label: "SHA-256 of its bytes", value: [{ exact: mimeSha256 }] },
        ],
        texts: [],
      };
    }
    case "DeliveryAbandoned":
      return answered(joinPhrases`The attempt was abandoned: nothing was handed over`, { Reason: event.data.because });
    case "DeliveryNotHandedOver":
      return answered(
        event.data.withheld
          ? joinPhrases`Nothing was handed over: the service held it back`
          : joinPhrases`Nothing was handed over`,
        { Reason: event.data.message },
      );
    case "DeliveryAccepted": {
      const { response, providerId, rejectedRecipients } = event.data;
      const refused = rejectedRecipients.map((exact) => [{ exact }]);
      return answered(
        joinPhrases`Accepted by the provider${refused.length > 0 && joinPhrases`, but not for ${listInWords(refused)}`}`,
        {
          "The provider said": response,
        },
        providerId === null ? [] : [fact("Message id at the provider", { exact: providerId })],
      );
    }
    case "DeliveryRefused": {
      const { retryable, code, message, retryAfterSeconds } = event.data;
      return answered(
        retryable ? joinPhrases`The provider refused it for now` : joinPhrases`The provider refused it`,
        {
          "The provider said": message,
        },
        [
          ...(code === "" ? [] : [fact("Code", { exact: code })]),
          ...(retryAfterSeconds === undefined ? [] : [fact("It can be tried again after", `${retryAfterSeconds} s`)]),
        ],
      );
    }
    case "DeliveryUnknown":
      return answered(joinPhrases`It is not known whether the provider accepted it`, {
        "What happened": event.data.message,
      });
    case "DeliverySettled":
      return answered(settled[event.data.outcome], { Evidence: event.data.evidence });
    case "DeliveryProcessed":
      return answered(joinPhrases`The provider reported that it has the mail`, { Evidence: event.data.evidence });
    case "DeliveryDelivered":
      return answered(joinPhrases`A delivery was reported`, ...reportOf(event.data));
    case "DeliveryDelayed":
      return answered(joinPhrases`A server could not deliver it yet, and tries again`, ...reportOf(event.data));
    case "DeliveryDropped":
      return answered(
        event.data.wholeMail
          ? joinPhrases`The provider reported that it will not deliver it to any recipient`
          : joinPhrases`The provider reported that it will not deliver it to a recipient`,
        ...reportOf(event.data),
      );
    case "DeliveryBounced":
      return answered(joinPhrases`It was reported as bounced`, ...reportOf(event.data));
    case "DeliveryComplained":
      return answered(joinPhrases`A recipient's complaint was reported`, ...reportOf(event.data));
    case "DeliveryMessageIdLearned":
      return answered(joinPhrases`The provider sent it with another Message-ID`, {}, [
        fact("Message-ID", { exact: event.data.rfcMessageId }),
      ]);
    default:
      return unknownEvent(event);
  }
}

const settled = {
  accepted: joinPhrases`Evidence shows that the provider accepted it`,
  refused: joinPhrases`Evidence shows that the provider did not accept it`,
  unconfirmed: joinPhrases`No evidence arrived in time of whether the provider accepted it`,
};

/** The source of a report, and the recipients that it is about with their server's words. */
const reportOf = ({ evidence, recipients = [] }: Pick<DeliveryReport, "evidence" | "recipients">) =>
  [
    { Evidence: evidence },
    recipients.map(({ address, code, text }) =>
      fact("Recipient", { exact: [address, ...[code ?? [], text ?? []].flat()].join(" – ") }),
    ),
  ] as const;

/** Adds the other server's answer, verbatim. */
const answered = (what: StepWords["what"], said: Record<string, string>, facts: readonly Fact[] = []): StepWords => ({
  what,
  facts: [...facts],
  texts: Object.entries(said)
    .filter(([, text]) => text !== "")
    .map(([label, text]) => ({ label, text })),
});
