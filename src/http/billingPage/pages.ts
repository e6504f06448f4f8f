import type { CheckoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import type { Plan } from "#streams/workspace/events.ts";
import type { PlanLimits } from "#streams/workspace/planLimits.ts";

export type Plans = {
  limits: Record<Plan, PlanLimits>;
  /** Base URL of the API. */
  publicUrl: string;
  /** True if a payment processor is configured; otherwise the operator sets plans. */
  isConnected: boolean;
};

/** Name and price of each plan; limits are defined elsewhere. */
export const plans: readonly { plan: Plan; name: string; price: string; per: "life" | "month" }[] = [
  { plan: "builder_pack", name: "Builder pack", price: "free", per: "life" },
  { plan: "pro", name: "Pro", price: "29 per month", per: "month" },
  { plan: "agency", name: "Business (agency)", price: "79 per month", per: "month" },
];

/** `/billing` for visitors without a session. */
export const plansPage = (shown: Plans): string =>
  page({ title: "Plans: Countersign", main: html`<h1>Plans</h1>${plansOf(shown)}` });

/** Shown for an unknown checkout. */
export const unknownPage = (): string =>
  outcome({
    tone: "plain",
    title: "Checkout not found",
    sentences: [
      "If the payment page brought you here, check that the address was not cut off.",
      html`<a class="press" href="billing">See the plans</a>`,
    ],
  });

export const tooManyPage = (): string =>
  outcome({
    tone: "wait",
    title: "Too many unknown checkouts",
    sentences: [
      "Too many unknown checkouts were opened from your network address. Wait a minute, and load the page again.",
    ],
  });

export const methodPage = (): string =>
  outcome({ tone: "plain", title: "This page cannot be opened this way", sentences: ["Open it in a browser."] });

export const unavailablePage = (): string =>
  outcome({
    tone: "wait",
    title: "Please try again in a moment",
    sentences: ["Nothing was changed, and no checkout is lost. Load the page again to see the current state."],
  });

export const brokenPage = (): string =>
  outcome({ tone: "bad", title: "Something went wrong", sentences: ["Nothing was changed. Load the page again."] });

/** The outcome of a checkout. */
export const outcomePage = (known: KnownOutcome, shown: Plans): string => {
  const { offers, ...told } = outcomeOf(known);
  return outcome({
    ...told,
    ...(offers === "plans" && { shown }),
    ...(offers === "portal" && { sentences: [...told.sentences, byPortal] }),
  });
};

const byPortal = html`Change it in the portal, which <code>POST /v1/billing/portal</code> opens.`;

export type KnownOutcome = Exclude<CheckoutOutcome, { kind: "unknown" }>;

/** The outcome of a checkout in words. `offers`: the section below it. */
export type OutcomeWords = Omit<Outcome, "shown"> & { offers?: "plans" | "portal" };

export function outcomeOf(known: KnownOutcome): OutcomeWords {
  switch (known.kind) {
    case "open":
      return {
        tone: "wait",
        title: "This checkout is not finished",
        sentences: ["Nothing was bought. Go back to the payment page to finish it, or start another checkout."],
        offers: "plans",
      };
    case "expired":
      return {
        tone: "plain",
        title: "This checkout has ended",
        sentences: ["Nothing was bought with it. Start another checkout if you still want the plan."],
        offers: "plans",
      };
    case "being_confirmed":
      return {
        tone: "wait",
        title: "Your checkout is being confirmed",
        sentences: [
          "The plan changes as soon as the payment processor confirms it. This page checks again every few seconds. You can close it at any time.",
          html`<a class="press" href="">Check again now</a>`,
        ],
        refreshSeconds,
      };
    case "second":
      return {
        tone: "wait",
        title: "This was a second subscription",
        sentences: [
          "Your workspace already has a subscription, so this one was cancelled immediately, and the payment is refunded.",
        ],
      };
    case "ended":
      return ended;
    case "subscription":
      return isOver(known.subscription) ? ended : subscriptionOutcome(known.subscription);
  }
}

/** Seconds between refreshes of a page that waits for the processor. */
const refreshSeconds = 10;

type Subscription = Extract<CheckoutOutcome, { kind: "subscription" }>["subscription"];

const isOver = ({ status }: Subscription): boolean => status === "canceled" || status === "incomplete_expired";

const ended = {
  tone: "plain",
  title: "This subscription has ended",
  sentences: ["Start another checkout if you want a plan again."],
  offers: "plans",
} as const;

function subscriptionOutcome({ plan, interval, status, trialEnd, cancelAt, periodEnd }: Subscription): OutcomeWords {
  // The plan's price was removed from the settings.
  const name = plans.find((each) => each.plan === plan)?.name ?? "unknown";
  const runs = status === "active" || status === "trialing";
  const isTried = status === "trialing" && trialEnd !== null;
  return {
    tone: runs ? "good" : "wait",
    title: runs ? `Your plan is ${name}` : `${name}: a payment is due`,
    sentences: [
      ...(interval === null ? [] : [`It is billed by the ${interval === "annual" ? "year" : "month"}.`]),
      ...(isTried ? [html`The trial ends on ${day(trialEnd)}. You pay nothing until then.`] : []),
      ...(runs && cancelAt !== null ? [html`It ends on ${day(cancelAt)}.`] : []),
      ...(runs && cancelAt === null && !isTried ? [html`It renews on ${day(periodEnd)}.`] : []),
      ...(runs ? [] : ["Check the payment method in the portal."]),
    ],
    offers: "portal",
  };
}

const day = (at: string): Markup => html`<time datetime="${at}">${at.slice(0, 10)}</time>`;

function plansOf({ limits, publicUrl, isConnected }: Plans): Markup {
  return html`${plans.map(({ plan, name, price, per }) => planCard(limits[plan], { plan, name, price, per }))}
${isConnected ? howTo(publicUrl) : html`<p>This service is not connected to a payment processor: ask its operator to change the plan.</p>`}`;
}

function planCard(
  limits: PlanLimits,
  { plan, name, price, per }: { plan: Plan; name: string; price: string; per: "life" | "month" },
): Markup {
  return html`<section class="card"><h2>${name}: ${price}</h2><ul>
${allowed(limits, per)}
<li>In the API: <code>${plan}</code></li>
</ul></section>`;
}

/** A plan's limits as list items. */
export const allowed = (limits: PlanLimits, per: "life" | "month"): Markup =>
  html`<li>${number(limits.emailsPerPeriod)} outgoing and ${number(limits.inboundPerPeriod)} incoming mails ${per === "life" ? "in all, ever" : "a month"}</li>
<li>${count(limits.identities, "identity", "identities")}, ${count(limits.rules, "rule", "rules")}, ${count(limits.domains, "domain", "domains")}</li>`;

// No buttons: only the holder of a key can start a checkout.
const howTo = (publicUrl: string): Markup => html`<section><h2>How to change your plan</h2>
<p>With an API key that has the scope <code>write:billing</code>. Start a subscription, with <code>monthly</code> or <code>annual</code>, and open the <code>checkout_url</code> of the answer. The first subscription of a workspace begins with a trial of 30 days; a card is required at the start.</p>
<pre class="letter" tabindex="0"><code>curl -X POST ${publicUrl}/v1/billing/checkout \\
  -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\
  -d '{"plan": "pro", "interval": "monthly"}'</code></pre>
<p>Change a subscription, its payment method, or see invoices: open the <code>portal_url</code> of the answer.</p>
<pre class="letter" tabindex="0"><code>curl -X POST ${publicUrl}/v1/billing/portal -H "Authorization: Bearer $API_KEY"</code></pre>
<p><a class="press" href="docs">All calls of the API</a></p></section>`;

const number = (value: number): string => value.toLocaleString("en");

const count = (value: number, one: string, many: string): string =>
  value === 0 ? `no ${many}` : `${number(value)} ${value === 1 ? one : many}`;

type Outcome = {
  tone: "good" | "bad" | "wait" | "plain";
  title: string;
  sentences: readonly (string | Markup)[];
  /** Plans to show below. */
  shown?: Plans;
  refreshSeconds?: number;
};

const outcome = ({ tone, title, sentences, shown, refreshSeconds }: Outcome): string =>
  page({
    title,
    main: html`<div class="card outcome ${tone}"><h1>${title}</h1>${sentences.map((sentence) => html`<p>${sentence}</p>`)}</div>
${shown && plansOf(shown)}`,
    refreshSeconds,
  });
