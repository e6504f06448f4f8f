import type { Dependencies } from "#src/commands/dependencies.ts";
import { reportDelivery } from "#src/commands/sends/deliveryReports.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Process, ProcessContext } from "./process.ts";

/**
 * If the provider is itself the mailbox, records a mail as delivered once the provider accepts it. With other providers an accepted mail
 * counts only as sent, because a delivery report may follow.
 */
export function confirmDelivery(deps: Dependencies, { name, isMailbox }: MailProvider): Process {
  async function confirm(event: Recorded, { cause }: ProcessContext): Promise<void> {
    const { state: delivery } = await deps.deliveries.load(idOf(event.stream));
    if (delivery.started?.provider !== name) return;
    const report = { attemptId: idOf(event.stream), outcome: "delivered", evidence: `${name} is the mailbox` } as const;
    await reportDelivery(deps, report, cause);
  }
  return {
    name: "confirmDelivery",
    categories: ["delivery"],
    keyOf: (event) => idOf(event.stream),
    concerns: ({ type, data }) => isMailbox === true && (type === "DeliveryAccepted" || data.outcome === "accepted"),
    on: { DeliveryAccepted: confirm, DeliverySettled: confirm },
  };
}
