import { createHash } from "node:crypto";
import Stripe from "stripe";
import { cutText } from "#streams/cutText.ts";
import {
  type CheckoutRequest,
  type CheckoutSession,
  type PaymentProcessor,
  ProcessorRefused,
  type ProcessorSubscription,
  ProcessorUnavailable,
} from "../paymentProcessor.ts";
import * as answers from "./answers.ts";
import { asAsked, idOf, timeOf } from "./answers.ts";
import { boundedFetch } from "./boundedFetch.ts";
import { readEvent } from "./events.ts";
import { failureOf } from "./failures.ts";
import type { Prices } from "./prices.ts";
import { refundInvoice } from "./refunds.ts";
import { signedContent } from "./signatures.ts";
import { readSubscription } from "./subscriptions.ts";

export type StripeOptions = {
  secretKey: string;
  /** `whsec_…`: a signature by any of them is valid. */
  webhookSecrets: readonly string[];
  prices: Prices;
  /** Id of the account's portal configuration; its default one if absent. */
  portalConfiguration?: string | undefined;
  /** URL of the API instead of https://api.stripe.com: a mock, for tests. */
  apiBase?: string | undefined;
  clock: { now(): Date };
  /** Milliseconds for one attempt; a call makes two at most. */
  attemptMs?: number;
  /** Milliseconds for a call with all its requests. */
  callMs?: number;
};

/** API version sent with requests. Answers have this version's form, whatever the account's own version is. */
export const apiVersion = "2026-10-28.endive";

const maxAnswerBytes = 4_000_000;
/** UTF-16 units of a customer's name; Stripe's limit is 256 characters. */
const maxName = 250;

/** Payment processor using Stripe's API as of 2025-03-31, where periods belong to a subscription item; older locations are read too. */
export function stripeProcessor(options: StripeOptions): PaymentProcessor {
  const { prices, callMs = 15_000 } = options;
  const stripe = clientOf(options);
  const bounded = <Result>(call: () => Promise<Result>) => inTime(callMs, call);

  async function sessionOf(sessionId: string): Promise<CheckoutSession | undefined> {
    const found = await unlessMissing(() => stripe.checkout.sessions.retrieve(sessionId));
    if (found === undefined) return undefined;
    const { customer, status, subscription } = asAsked(answers.CheckoutSession, found);
    const customerId = idOf(customer);
    // A session without a customer is not ours.
    return customerId === null ? undefined : { customerId, status, subscriptionId: idOf(subscription) };
  }

  /** Returns why a customer is gone; null if it exists. Stripe still returns a deleted customer, with little more than its id. */
  async function whyGone(customerId: string): Promise<"customer_deleted" | "customer_unknown" | null> {
    const found = await unlessMissing(() => stripe.customers.retrieve(customerId));
    if (found === undefined) return "customer_unknown";
    return asAsked(answers.Customer, found).deleted === true ? "customer_deleted" : null;
  }

  return {
    async createCustomer({ workspaceId, name, insteadOf }) {
      const idempotencyKey = keyOf("customer", workspaceId, insteadOf ?? "");
      const metadata = { workspace_id: workspaceId };
      const { id } = await bounded(async () =>
        asAsked(answers.Customer, await stripe.customers.create({ metadata }, { idempotencyKey })),
      );
      // Set by a separate request, because the name may change between two attempts and an idempotency key belongs to one set of
      // parameters. The name only helps human readers, so its failure is ignored.
      await bounded(() => stripe.customers.update(id, { name: cutText(name, maxName) })).catch(() => undefined);
      return { customerId: id };
    },

    checkout: (request) =>
      bounded(async () => {
        const parameters = checkoutParameters(request, prices);
        const key = keyOf("checkout", request.requestKey, JSON.stringify(parameters));
        const answer = await stripe.checkout.sessions.create(parameters, { idempotencyKey: key });
        const { id, url, customer, expires_at } = asAsked(answers.OpenedSession, answer);
        if (idOf(customer) !== request.customerId)
          throw new ProcessorUnavailable("the payment processor opened a checkout for somebody else");
        return {
          sessionId: id,
          url: pageAt(url, options),
          expiresAt: timeOf(expires_at ?? inADay(options.clock.now())),
        };
      }),

    expireCheckout: (sessionId) =>
      bounded(async () => {
        const expired = await unlessRefused(() => stripe.checkout.sessions.expire(sessionId));
        if (expired !== undefined && asAsked(answers.CheckoutSession, expired).status === "expired") return "expired";
        // Only an open session can be expired, so this one was not open.
        const { status } = (await sessionOf(sessionId)) ?? { status: "expired" };
        if (status === "open") throw new ProcessorUnavailable("the payment processor cannot end an open checkout now");
        return status;
      }),

    checkoutSession: (sessionId) => bounded(() => sessionOf(sessionId)),

    portal: ({ customerId, returnUrl }) =>
      bounded(async () => {
        const { portalConfiguration: configuration } = options;
        const answer = await stripe.billingPortal.sessions.create({
          customer: customerId,
          return_url: returnUrl,
          ...(configuration !== undefined && { configuration }),
        });
        return { url: pageAt(asAsked(answers.PortalSession, answer).url, options) };
      }),

    subscriptionsOf: (customerId) =>
      bounded(async () => {
        const found = await unlessMissing(() =>
          stripe.subscriptions.list({
            ...{ customer: customerId, status: "all", limit: 100 },
            expand: ["data.latest_invoice"],
          }),
        );
        const all: ProcessorSubscription[] =
          found === undefined
            ? []
            : asAsked(answers.ListOf(answers.Subscription), found)
                .data.map((each) => readSubscription(prices, each))
                .filter((each) => each.customerId === customerId);
        // A customer that is gone has no active subscription left.
        const gone = all.every(({ status }) => hasEnded(status)) ? await whyGone(customerId) : null;
        return gone ?? all.sort((one, other) => other.createdAt.localeCompare(one.createdAt));
      }),

    cancelAndRefund: (subscriptionId) =>
      bounded(async () => {
        // A subscription that has already ended is not found, and may still need a refund.
        await unlessRefused(() => stripe.subscriptions.cancel(subscriptionId, { invoice_now: false, prorate: false }));
        const found = await unlessMissing(() => stripe.subscriptions.retrieve(subscriptionId));
        if (found === undefined) return;
        const { status, latest_invoice } = asAsked(answers.Subscription, found);
        if (!hasEnded(status)) throw new ProcessorUnavailable("the payment processor did not end a subscription");
        const invoiceId = idOf(latest_invoice);
        if (invoiceId !== null) await refundInvoice(stripe, invoiceId);
      }),

    eventIn: (call) => {
      const nowMs = options.clock.now().getTime();
      const signed = signedContent(call, { secrets: options.webhookSecrets, nowMs });
      return signed === undefined ? "forged" : (readEvent(signed.content) ?? "not_a_snapshot");
    },
  };
}

function clientOf({ secretKey, apiBase, attemptMs = 6_000 }: StripeOptions): Stripe {
  const base = apiBase === undefined ? undefined : new URL(apiBase);
  return new Stripe(secretKey, {
    apiVersion,
    telemetry: false,
    timeout: attemptMs,
    // Each POST has an idempotency key, so a second attempt repeats nothing.
    maxNetworkRetries: 1,
    httpClient: Stripe.createFetchHttpClient(boundedFetch({ maxBytes: maxAnswerBytes })),
    ...(base && {
      host: base.hostname,
      port: base.port || (base.protocol === "http:" ? "80" : "443"),
      protocol: base.protocol === "http:" ? "http" : "https",
    }),
  });
}

function checkoutParameters(request: CheckoutRequest, prices: Prices) {
  const { customerId: customer, workspaceId, plan, interval, trialDays, successUrl, cancelUrl } = request;
  const metadata = { workspace_id: workspaceId, plan };
  return {
    mode: "subscription" as const,
    customer,
    client_reference_id: workspaceId,
    line_items: [{ price: prices[plan][interval], quantity: 1 }],
    metadata,
    subscription_data: { ...(trialDays !== null && { trial_period_days: trialDays }), metadata },
    payment_method_collection: "always" as const,
    success_url: successUrl,
    cancel_url: cancelUrl,
  };
}

/** Bounds the duration of a call. Requests already begun end by themselves, at the latest after their own attempts. */
async function inTime<Result>(milliseconds: number, call: () => Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const error = new ProcessorUnavailable("the payment processor did not answer in time");
    timer = setTimeout(() => reject(error), milliseconds);
  });
  try {
    return await Promise.race([call(), late]);
  } catch (error) {
    throw failureOf(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves to undefined if the processor refused. */
async function unlessRefused<Answer>(call: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call();
  } catch (error) {
    if (failureOf(error) instanceof ProcessorRefused) return undefined;
    throw error;
  }
}

/** Resolves to undefined if the processor knows no such id. */
async function unlessMissing<Answer>(call: () => Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await call();
  } catch (error) {
    const failure = failureOf(error);
    if (failure instanceof ProcessorRefused && failure.code === "resource_missing") return undefined;
    throw error;
  }
}

const keyOf = (...parts: string[]): string =>
  `countersign-${createHash("sha256").update(JSON.stringify(parts)).digest("hex")}`;

const inADay = (now: Date): number => Math.floor(now.getTime() / 1_000) + 86_400;

/** Returns the URL of a page for a person, which must be https unless the API itself is an http mock. */
function pageAt(url: string, { apiBase }: StripeOptions): string {
  const schemes = apiBase?.startsWith("http:") ? ["https:", "http:"] : ["https:"];
  const isSafe = URL.canParse(url) && schemes.includes(new URL(url).protocol);
  if (!isSafe) throw new ProcessorUnavailable("the payment processor named a page that is none");
  return url;
}

const hasEnded = (status: string): boolean => status === "canceled" || status === "incomplete_expired";
