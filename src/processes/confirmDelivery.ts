import type { Dependencies } from "#src/commands/dependencies.ts";
import { reportDelivery } from "#src/commands/sends/deliveryReports.ts";
import type { MailProvider } from "#src/mail/mailProvider.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { Process, ProcessContext } from "./process.ts";

/** A provider that is itself the mailbox has delivered what it took. Of any other, a taken mail is only sent: it reports later, or never. */
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
