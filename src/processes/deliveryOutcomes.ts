import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { HandOverOutcome } from "#src/mail/mailProvider.ts";

export type OutcomeEvent = ReturnType<typeof outcomeEvent>;

/** Returns the outcome of a hand-over for which it is unknown if the provider accepted the mail. */
export const unknownOutcome = (message: string) => ({ type: "DeliveryUnknown", data: { message } }) as const;

/** Outcome if the start was recorded but confirmed too late: nothing was handed over. It does not count as a try. */
export const notBegunOutcome = {
  type: "DeliveryNotHandedOver",
  data: { message: "the hand-over could not begin in time", withheld: true },
} as const;

/** Converts the outcome of a hand-over to an event. `withheld`: true if the service itself kept the mail from being sent. */
export function outcomeEvent(outcome: HandOverOutcome, withheld: boolean) {
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
      return unknownOutcome(outcome.message);
  }
}

/**
 * Records the outcome of a hand-over and returns the delivery's state. Retries while the event store is unreachable, because the provider's
 * response is the only evidence and must not be lost.
 */
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
