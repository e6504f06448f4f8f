import { checkoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { html } from "#src/html/html.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { actorOf } from "../../framework/principal.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consoleForm, consolePage, shown } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { billingPage, goOnPage, type ShownCheckoutOutcome } from "./billingPages.ts";

/**
 * `/billing` for signed-in people: the workspace's plan, its usage, and links to the payment processor. Other visitors get the page of
 * src/http/billingPage at the same address.
 */
export const billingRoutes = (deps: ConsoleDependencies): ConsoleRoute[] => {
  async function page(
    context: PageContext,
    { refused, outcome }: { refused?: PageRefusal | undefined; outcome?: ShownCheckoutOutcome | undefined } = {},
  ) {
    const subscription = await context.ask("GET /v1/billing/subscription");
    const isConnected = deps.payments !== null;
    const limits = deps.settings.planLimits ?? planLimits;
    return shown({
      title: outcome?.kind === "being_confirmed" ? "Your checkout is being confirmed" : "Plan and billing",
      status: refused?.status ?? (outcome?.kind === "unknown" ? 404 : 200),
      main: billingPage(context, { subscription, limits, isConnected, refused, outcome }),
      // Refresh until the processor confirms, which takes seconds.
      ...(outcome?.kind === "being_confirmed" && { head: html`<meta http-equiv="refresh" content="10">` }),
    });
  }

  /** Requests a page of the payment processor and shows a link to it: the content security policy lets forms redirect only to own pages. */
  async function goOn(context: PageContext, title: string, urlOf: () => Promise<string>) {
    let url: string | undefined;
    const refused = await context.attempt(async () => {
      url = await urlOf();
    });
    return url === undefined ? page(context, { refused }) : shown({ title, main: goOnPage(title, url) });
  }

  return [
    consolePage(
      "GET /billing",
      async (context) => {
        const sessionId = context.query.get("session_id");
        if (sessionId === null) return page(context);
        const cause = { actor: actorOf(context.principal, context.request), correlationId: deps.ids.uuid() };
        const outcome = await checkoutOutcome(deps, sessionId, { ...cause, causationId: cause.correlationId });
        return page(context, { outcome });
      },
      { alsoSignedOut: true },
    ),

    consoleForm("POST /billing/checkout", (context) =>
      goOn(context, "Continue to the payment page", async () => {
        const body = { plan: context.form.get("plan") ?? "", interval: context.form.get("interval") ?? "" };
        return (await context.ask("POST /v1/billing/checkout", { body })).checkout_url;
      }),
    ),

    consoleForm("POST /billing/portal", (context) =>
      goOn(
        context,
        "Continue to the payment portal",
        async () => (await context.ask("POST /v1/billing/portal")).portal_url,
      ),
    ),
  ];
};
