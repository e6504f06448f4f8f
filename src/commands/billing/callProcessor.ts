import { setTimeout as sleep } from "node:timers/promises";
import {
  type PaymentProcessor,
  ProcessorRefused,
  ProcessorUnavailable,
} from "#src/platform/payments/paymentProcessor.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";

/** Maximum time in milliseconds that one request waits for all its calls to the payment processor. */
const longestRequestMs = 14_000;

/**
 * Calls the payment processor for a request. Throws Rejected stripe_error if there is no processor, it cannot be reached, or it refuses.
 * After a timeout the call is not cancelled.
 */
export async function callProcessor<Answer>(
  deps: Pick<Dependencies, "payments" | "log">,
  work: (payments: PaymentProcessor) => Promise<Answer>,
  { withinMs = longestRequestMs } = {},
): Promise<Answer> {
  const { payments } = deps;
  if (payments === null) throw notConnected();
  const settled = new AbortController();
  try {
    return await Promise.race([work(payments), late(withinMs, settled.signal)]);
  } catch (error) {
    if (!(error instanceof ProcessorUnavailable) && !(error instanceof ProcessorRefused)) throw error;
    deps.log?.error({ why: error.message }, "the payment processor failed, and the request was answered with an error");
    throw error instanceof ProcessorUnavailable
      ? new Rejected("stripe_error", "the payment processor is not available: retry in a minute")
      : new Rejected(
          "stripe_error",
          "the payment processor refused the request: ask the operator of this service, whose log has the reason",
        );
  } finally {
    settled.abort();
  }
}

async function late(milliseconds: number, signal: AbortSignal): Promise<never> {
  await sleep(milliseconds, undefined, { signal }).catch(() => undefined);
  throw new ProcessorUnavailable("the payment processor did not answer in time");
}

const notConnected = (): Rejected =>
  new Rejected(
    "stripe_error",
    "this service is not connected to a payment processor: ask its operator to change the plan",
  );
