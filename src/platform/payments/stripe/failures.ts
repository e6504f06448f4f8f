import Stripe from "stripe";
import { ProcessorRefused, ProcessorUnavailable } from "../paymentProcessor.ts";

/**
 * Turns a failed call into our own error. Stripe's message is dropped: it may quote the key or a customer's input. Its codes are from its
 * documentation.
 */
export function failureOf(error: unknown): ProcessorRefused | ProcessorUnavailable {
  if (error instanceof ProcessorRefused || error instanceof ProcessorUnavailable) return error;
  if (error instanceof Stripe.errors.StripeInvalidRequestError || error instanceof Stripe.errors.StripeCardError)
    return refused(wordIn(error.code) ?? wordIn(error.type));
  if (error instanceof Stripe.errors.StripeIdempotencyError) return refused("idempotency_error");
  return new ProcessorUnavailable(`the payment processor ${whyNot(error)}`);
}

const refused = (code: string | null): ProcessorRefused =>
  new ProcessorRefused(`the payment processor refused${code === null ? "" : `: ${code}`}`, code);

function whyNot(error: unknown): string {
  // Failures that the operator can fix, and a retry cannot.
  if (error instanceof Stripe.errors.StripeAuthenticationError) return "does not take STRIPE_SECRET_KEY";
  if (error instanceof Stripe.errors.StripePermissionError) return "does not allow this to STRIPE_SECRET_KEY";
  if (error instanceof Stripe.errors.StripeRateLimitError) return "takes no more requests now (429)";
  if (error instanceof Stripe.errors.StripeConnectionError) return "cannot be reached, or did not answer in time";
  const status = error instanceof Stripe.errors.StripeError ? error.statusCode : undefined;
  return status === undefined ? "gave no usable answer" : `answered with status ${status}`;
}

/** Returns a code of the API, never a sentence. */
const wordIn = (code: string | undefined): string | null =>
  code !== undefined && /^[a-z_]{1,60}$/i.test(code) ? code : null;
