import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import { listed, say } from "#src/commands/drafts/life/phrases.ts";
import { unseen } from "./exhausted.ts";
import type { Fact, StepWords } from "./stepParts.ts";
import { fact } from "./stepParts.ts";

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
        what: say`The hand-over of version ${version} began, ${providers[provider] ?? "to a provider"}`,
        facts: [
          { label: "Content hash", value: [{ exact: contentSha256 }] },
          { label: "Message-ID", value: [{ exact: rfcMessageId }] },
          { label: "SHA-256 of its bytes", value: [{ exact: mimeSha256 }] },
        ],
        texts: [],
      };
    }
    case "DeliveryAbandoned":
      return answered(say`The attempt was abandoned: nothing was handed over`, { Reason: event.data.because });
    case "DeliveryNotHandedOver":
      return answered(
        event.data.withheld ? say`Nothing was handed over: the service held it back` : say`Nothing was handed over`,
        { Reason: event.data.message },
      );
    case "DeliveryAccepted": {
      const { response, providerId, rejectedRecipients } = event.data;
      const refused = rejectedRecipients.map((exact) => [{ exact }]);
      return answered(
        say`Accepted by the provider${refused.length > 0 && say`, but not for ${listed(refused)}`}`,
        {
          "The provider said": response,
        },
        providerId === null ? [] : [fact("Message id at the provider", { exact: providerId })],
      );
    }
    case "DeliveryRefused": {
      const { retryable, code, message, retryAfterSeconds } = event.data;
      return answered(
        retryable ? say`The provider refused it for now` : say`The provider refused it`,
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
      return answered(say`It is not known whether the provider accepted it`, { "What happened": event.data.message });
    case "DeliverySettled":
      return answered(settled[event.data.outcome], { Evidence: event.data.evidence });
    case "DeliveryProcessed":
      return answered(say`The provider reported that it has the mail`, { Evidence: event.data.evidence });
    case "DeliveryDelivered":
      return answered(say`A delivery was reported`, { Evidence: event.data.evidence });
    case "DeliveryDropped":
      return answered(
        event.data.wholeMail
          ? say`The provider reported that it will not deliver it to any recipient`
          : say`The provider reported that it will not deliver it to a recipient`,
        { Evidence: event.data.evidence },
      );
    case "DeliveryBounced":
      return answered(say`It was reported as bounced`, { Evidence: event.data.evidence });
    case "DeliveryComplained":
      return answered(say`A recipient's complaint was reported`, { Evidence: event.data.evidence });
    case "DeliveryMessageIdLearned":
      return answered(say`The provider sent it with another Message-ID`, {}, [
        fact("Message-ID", { exact: event.data.rfcMessageId }),
      ]);
    default:
      return unseen(event);
  }
}

const settled = {
  accepted: say`Evidence shows that the provider accepted it`,
  refused: say`Evidence shows that the provider did not accept it`,
  unconfirmed: say`No evidence arrived in time of whether the provider accepted it`,
};

/** Adds the other server's answer, verbatim. */
const answered = (what: StepWords["what"], said: Record<string, string>, facts: Fact[] = []): StepWords => ({
  what,
  facts,
  texts: Object.entries(said)
    .filter(([, text]) => text !== "")
    .map(([label, text]) => ({ label, text })),
});
