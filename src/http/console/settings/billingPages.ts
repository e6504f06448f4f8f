import type { CheckoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { button, errorSummary, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import type { Plan, PlanStatus } from "#streams/workspace/events.ts";
import type { PlanLimits } from "#streams/workspace/planLimits.ts";
import { allowed, outcomeOf, plans } from "../../billingPage/pages.ts";
import type { Answers } from "../../routes.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";

export type ShownCheckoutOutcome = CheckoutOutcome;

export type ShownSubscription = Answers["GET /v1/billing/subscription"];

export type BillingPageState = {
  subscription: ShownSubscription;
  limits: Record<Plan, PlanLimits>;
  /** True if a payment processor is configured; otherwise the operator sets plans. */
  isConnected: boolean;
  refused: PageRefusal | undefined;
  outcome: ShownCheckoutOutcome | undefined;
};

export const billingPage = (context: PageContext, billing: BillingPageState): Markup => html`${
  billing.outcome ? outcomeCard(billing.outcome) : html`<h1>Plan and billing</h1>`
}
${errorSummary(billing.refused)}
${planSection(context, billing.subscription)}
${usedSection(billing.subscription)}
${context.may("write:billing") ? waysSection(context, billing) : html`<p class="soft">Only an owner may change the plan.</p>`}`;

function outcomeCard(outcome: ShownCheckoutOutcome): Markup {
  const { tone, title, sentences } =
    outcome.kind === "unknown"
      ? ({
          tone: "plain",
          title: "Checkout not found",
          sentences: ["If the payment page brought you here, check that the address was not cut off."],
        } as const)
      : outcomeOf(outcome);
  return html`<div class="card outcome ${tone}"><h1>${title}</h1>${sentences.map((sentence) => html`<p>${sentence}</p>`)}</div>`;
}

const nameOf = (plan: Plan): string => plans.find((each) => each.plan === plan)?.name ?? plan;

const statuses: Record<PlanStatus, string> = {
  trialing: "on trial",
  active: "active",
  past_due: "a payment is due",
  canceled: "canceled",
};

const planSection = (context: PageContext, subscription: ShownSubscription): Markup => html`<section>
<h2>Your plan: ${nameOf(subscription.plan)}</h2>
<dl>
<dt>Status</dt><dd>${statuses[subscription.plan_status]}${subscription.beta_override && ", without limits (beta)"}</dd>
${subscription.interval !== null && html`<dt>Paid</dt><dd>by the ${subscription.interval === "annual" ? "year" : "month"}</dd>`}
${subscription.trial_ends_at !== null && html`<dt>Trial until</dt><dd>${when(context, subscription.trial_ends_at)}</dd>`}
${subscription.renews_at !== null && html`<dt>Renews</dt><dd>${when(context, subscription.renews_at)}</dd>`}
${subscription.current_period_end !== null && html`<dt>This period ends</dt><dd>${when(context, subscription.current_period_end)}</dd>`}
</dl>
</section>`;

function usedSection(subscription: ShownSubscription): Markup {
  const { limits, beta_override: isUnlimited } = subscription;
  const rows: [string, number, number][] = [
    ["Mails sent", subscription.emails_sent_this_period, limits.emails_per_period],
    ["Mails received", subscription.inbound_received_this_period, limits.inbound_per_period],
    ["Identities", subscription.identity_count, limits.max_identities],
    ["Rules", subscription.rule_count, limits.max_rules],
    ["Own domains", subscription.domain_count, limits.max_domains],
  ];
  return html`<section>
<h2>Usage</h2>
<table><thead><tr><th scope="col">What</th><th scope="col">Used</th><th scope="col">Allowed</th></tr></thead><tbody>${rows.map(
    ([what, used, most]) =>
      html`<tr><th scope="row">${what}</th><td>${number(used)}</td><td>${isUnlimited ? "without limit" : number(most)}</td></tr>`,
  )}</tbody></table>
<p class="soft">${subscription.plan === "builder_pack" ? "All mails count since the workspace was created, not per month." : "Mails count per month, also if the plan is paid yearly."}</p>
</section>`;
}

const number = (value: number): string => value.toLocaleString("en");

function waysSection(context: PageContext, { subscription, limits, isConnected }: BillingPageState): Markup {
  if (!isConnected)
    return html`<section><h2>Another plan</h2><p>This service is not connected to a payment processor: ask its operator to change the plan.</p></section>`;
  const paid = plans.filter(({ per }) => per === "month");
  return html`${
    subscription.interval === null
      ? paid.map(
          ({ plan, name, price, per }) => html`<section><h2>${name}: ${price}</h2>
<ul>${allowed(limits[plan], per)}</ul>
${form(
  context,
  { action: "/billing/checkout", label: name },
  html`<input type="hidden" name="plan" value="${plan}">
<div class="buttons">`,
  button(html`Pay monthly<span class="unseen">: ${name}</span>`, { name: "interval", value: "monthly" }),
  button(html`Pay yearly<span class="unseen">: ${name}</span>`, { name: "interval", value: "annual" }),
  html`</div>`,
)}
<p class="soft">The first subscription of a workspace begins with a trial of 30 days. A card is required at the start.</p></section>`,
        )
      : ""
  }
<section><h2>Payment method, invoices, another plan</h2>
<p>The payment processor has a page for these.</p>
${form(context, { action: "/billing/portal" }, button("Open the payment portal"))}
</section>`;
}

/** A link to a page of the payment processor. */
export const goOnPage = (title: string, url: string): Markup => html`<h1>${title}</h1>
<section>
<p>The page belongs to the payment processor, and brings you back here afterwards. Nothing has been bought or changed yet.</p>
${/^https?:\/\//.test(url) && html`<p><a class="press" href="${url}" rel="noreferrer">Continue to ${new URL(url).host}</a></p>`}
</section>
<p><a class="press" href="/billing">Back to the plan</a></p>`;
