import express, { type Request, type Response, type Router } from "express";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import type { PaymentProcessor, ProcessorEvent } from "#src/platform/payments/paymentProcessor.ts";
import { Rejected } from "#streams/decider.ts";
import { errorHandler } from "../framework/errorHandler.ts";
import { rawBody } from "./rawBody.ts";

export type StripeHookOptions = {
  payments: Pick<PaymentProcessor, "eventIn">;
  /** Makes the event durable. A repeated event changes nothing. */
  record(event: ProcessorEvent): Promise<unknown>;
  /** Counts a request that Stripe did not sign; throws Rejected rate_limited if its sender has tried too often. */
  countForged(request: Request): Promise<void>;
  /** Called with internal errors. */
  onError(error: unknown): void;
};

/** Bytes. Events have some kilobytes. */
const maxBytes = 1_000_000;

/**
 * `POST /hooks/stripe`: receives Stripe's events. 200 once the event is durable; 400 without a valid signature of the last minutes, and for
 * an event without its data; otherwise 5xx, and Stripe retries for three days.
 */
export function stripeHook(options: StripeHookOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.post("/hooks/stripe", rawBody(maxBytes), async (request, response) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const event = options.payments.eventIn({ body, signature: request.get("stripe-signature") });
    if (event === "forged") return refuse(options, request, response);
    if (event === "not_a_snapshot") return answer(response, 400, noSnapshot);
    await options.record(event);
    response.json({ received: true });
  });
  router.use(
    "/hooks/stripe",
    errorHandler(({ error, request, response }) => {
      if (response.headersSent || (request.destroyed && !request.complete)) return void response.destroy();
      // The body is too large, compressed, or cut off.
      if (isAboutBody(error)) return refuse(options, request, response);
      if (!(error instanceof Unavailable)) options.onError(error);
      const status = error instanceof Unavailable ? 503 : 500;
      answer(response, status, "the event cannot be recorded now: send it again later");
    }),
  );
  return router;
}

async function refuse({ countForged }: StripeHookOptions, request: Request, response: Response): Promise<void> {
  try {
    await countForged(request);
  } catch (error) {
    if (!(error instanceof Rejected) || error.code !== "rate_limited") throw error;
    response.set("Retry-After", String(error.details.retryAfter));
    return answer(response, 429, "too many calls without a valid signature");
  }
  answer(
    response,
    400,
    "this event was not signed by Stripe within the last minutes: check STRIPE_WEBHOOK_SECRET against the endpoint's signing secret",
  );
}

const noSnapshot =
  "this call is signed by Stripe, but it is no event with its data: choose the payload style snapshot, not thin, for this endpoint at Stripe";

const names = { 400: "invalid_request", 429: "rate_limited", 500: "internal_error", 503: "unavailable" };

function answer(response: Response, status: keyof typeof names, message: string): void {
  response.status(status).set("Cache-Control", "no-store").json({ error: names[status], message });
}

const isAboutBody = (error: unknown): boolean => {
  const { status, type } = error as { status?: unknown; type?: unknown };
  return typeof type === "string" && typeof status === "number" && status >= 400 && status < 500;
};
