import Type from "typebox";
import type { Prices } from "../platform/payments/stripe/prices.ts";
import { HttpUrl, ListOf, StripeId, StripeSecret } from "./settingKinds.ts";

const price = (of: string) =>
  Type.Optional(
    StripeId(["price", "plan"], { otherwise: "no Stripe", description: `The id of Stripe's price for ${of}.` }),
  );

/** Settings of the payment processor: a part of src/settings/settings.ts. */
export const billingSettings = {
  STRIPE_SECRET_KEY: Type.Optional(
    StripeSecret(["sk", "rk"], {
      otherwise: "no Stripe: checkout and portal answer 502, the operator sets plans",
      description: "The key that Stripe is asked with; the webhook's secret and the four prices have to be set too.",
    }),
  ),
  STRIPE_WEBHOOK_SECRET: Type.Optional(
    ListOf(StripeSecret(["whsec"]), {
      otherwise: "no Stripe",
      description: "What Stripe signs its calls to /hooks/stripe with; two of them while one replaces the other.",
    }),
  ),
  STRIPE_PORTAL_CONFIGURATION: Type.Optional(
    StripeId(["bpc"], {
      otherwise: "the account's default",
      description: "Which of the account's customer portals opens.",
    }),
  ),
  STRIPE_PRICE_PRO_MONTHLY: price("pro, paid by the month"),
  STRIPE_PRICE_PRO_ANNUAL: price("pro, paid by the year"),
  STRIPE_PRICE_AGENCY_MONTHLY: price("agency, paid by the month"),
  STRIPE_PRICE_AGENCY_ANNUAL: price("agency, paid by the year"),
  STRIPE_API_BASE: Type.Optional(
    HttpUrl({
      otherwise: "at Stripe, https://api.stripe.com",
      description: "Where Stripe's API is, for a mock of it; production takes https only.",
    }),
  ),
};

const needed = [
  "STRIPE_SECRET_KEY",
  "STRIPE_WEBHOOK_SECRET",
  "STRIPE_PRICE_PRO_MONTHLY",
  "STRIPE_PRICE_PRO_ANNUAL",
  "STRIPE_PRICE_AGENCY_MONTHLY",
  "STRIPE_PRICE_AGENCY_ANNUAL",
];

type GivenSettings = Record<string, string | undefined>;

/** Lists faults of these settings in combination, one sentence each. `given`: those that are set, as text. */
export function billingInconsistencies(given: GivenSettings, { production }: { production: boolean }): string[] {
  const set = Object.keys(billingSettings).filter((name) => given[name]);
  if (set.length === 0) return [];
  const missing = needed.filter((name) => !given[name]);
  const prices = needed.filter((name) => name.startsWith("STRIPE_PRICE_"));
  const same = prices.filter(
    (name) => given[name] && prices.some((other) => other < name && given[other] === given[name]),
  );
  const base = given.STRIPE_API_BASE;
  return [
    ...(missing.length > 0 ? [`${set[0]} is set without ${listed(missing)}: set all of them, or none.`] : []),
    ...same.map((name) => `${name} is a price that another plan or interval has: each needs one of its own.`),
    ...((given.STRIPE_WEBHOOK_SECRET?.split(",").length ?? 0) > 2
      ? ["STRIPE_WEBHOOK_SECRET has more than two secrets: keep the old and the new one."]
      : []),
    ...(base !== undefined && !/^https?:\/\/[^/?#@]+\/*$/.test(base)
      ? ["STRIPE_API_BASE is wrong: expected a host and perhaps a port, without a path."]
      : []),
    ...(production && base?.startsWith("http://") ? ["STRIPE_API_BASE has to begin with https:// in production."] : []),
  ];
}

const listed = (names: string[]): string => names.join(", ").replace(/, (?=[^,]*$)/, " and ");

/** Billing settings, with names in camel case. */
export type BillingSettings = {
  stripeSecretKey?: string | undefined;
  stripeWebhookSecret?: string[] | undefined;
  stripePortalConfiguration?: string | undefined;
  stripePriceProMonthly?: string | undefined;
  stripePriceProAnnual?: string | undefined;
  stripePriceAgencyMonthly?: string | undefined;
  stripePriceAgencyAnnual?: string | undefined;
  stripeApiBase?: string | undefined;
};

/** Settings for calling Stripe; null if no payment processor is configured. The settings have been checked already. */
export function stripeIn(read: BillingSettings) {
  if (read.stripeSecretKey === undefined) return null;
  const prices: Prices = {
    pro: { monthly: read.stripePriceProMonthly!, annual: read.stripePriceProAnnual! },
    agency: { monthly: read.stripePriceAgencyMonthly!, annual: read.stripePriceAgencyAnnual! },
  };
  return {
    secretKey: read.stripeSecretKey,
    webhookSecrets: read.stripeWebhookSecret!,
    portalConfiguration: read.stripePortalConfiguration,
    apiBase: read.stripeApiBase,
    prices,
  };
}
