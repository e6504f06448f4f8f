import Stripe from "stripe";
import { ProcessorRefused, ProcessorUnavailable } from "../paymentProcessor.ts";

/**
 * A failed call in our words. Stripe's own sentence stays out: it may quote the key or what a customer entered. Its codes are words of its
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
  // Nothing that asking again mends, but an operator does.
  if (error instanceof Stripe.errors.StripeAuthenticationError) return "does not take STRIPE_SECRET_KEY";
  if (error instanceof Stripe.errors.StripePermissionError) return "does not allow this to STRIPE_SECRET_KEY";
  if (error instanceof Stripe.errors.StripeRateLimitError) return "takes no more requests now (429)";
  if (error instanceof Stripe.errors.StripeConnectionError) return "cannot be reached, or did not answer in time";
  const status = error instanceof Stripe.errors.StripeError ? error.statusCode : undefined;
  return status === undefined ? "gave no usable answer" : `answered with status ${status}`;
}

/** A word of the API's own, and no sentence. */
const wordIn = (code: string | undefined): string | null =>
  code !== undefined && /^[a-z_]{1,60}$/i.test(code) ? code : null;
