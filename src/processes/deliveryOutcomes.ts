import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { Outcome } from "#src/mail/mailProvider.ts";

export type OutcomeEvent = ReturnType<typeof outcomeEvent>;

/** Nobody can tell whether the provider took it. */
export const unknown = (message: string) => ({ type: "DeliveryUnknown", data: { message } }) as const;

/** Its start was recorded, which became known too late: nothing was handed over. It counts as no try. */
export const neverBegun = {
  type: "DeliveryNotHandedOver",
  data: { message: "it was not known in time that the hand-over could begin", withheld: true },
} as const;

/** How a hand-over ended, as an event. `withheld`: the service itself did not let it go. */
export function outcomeEvent(outcome: Outcome, withheld: boolean) {
  switch (outcome.kind) {
    case "accepted": {
      const { response, providerId = null, rejectedRecipients = [] } = outcome;
      return { type: "DeliveryAccepted", data: { response, providerId, rejectedRecipients } } as const;
    }
    case "refused": {
      const { retryable, code, message, retryAfterSeconds } = outcome;
      const wait = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
      return { type: "DeliveryRefused", data: { retryable, code, message, ...wait } } as const;
    }
    case "not_handed_over":
      return {
        type: "DeliveryNotHandedOver",
        data: { message: outcome.message, ...(withheld && { withheld: true as const }) },
      } as const;
    case "unknown":
      return unknown(outcome.message);
  }
}

/** Records how a hand-over ended, and answers what the delivery is then. An answer must not get lost because the log is away for a while: it is all the evidence there is. */
export async function recordOutcome(
  deps: Dependencies,
  { attemptId, outcome }: { attemptId: string; outcome: OutcomeEvent },
  cause: Cause,
) {
  const command = { type: "RecordOutcome", outcome } as const;
  for (;;) {
    try {
      return (await deps.deliveries.handle(attemptId, command, cause)).state;
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}
