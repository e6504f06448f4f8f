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
    visit: PageContext,
    { refused, outcome }: { refused?: PageRefusal | undefined; outcome?: ShownCheckoutOutcome | undefined } = {},
  ) {
    const subscription = await visit.ask("GET /v1/billing/subscription");
    const isConnected = deps.payments !== null;
    const limits = deps.settings.planLimits ?? planLimits;
    return shown({
      title: outcome?.kind === "being_confirmed" ? "Your checkout is being confirmed" : "Plan and billing",
      status: refused?.status ?? (outcome?.kind === "unknown" ? 404 : 200),
      main: billingPage(visit, { subscription, limits, isConnected, refused, outcome }),
      // Refresh until the processor confirms, which takes seconds.
      ...(outcome?.kind === "being_confirmed" && { head: html`<meta http-equiv="refresh" content="10">` }),
    });
  }

  /** Requests a page of the payment processor and shows a link to it: the content security policy lets forms redirect only to own pages. */
  async function goOn(visit: PageContext, title: string, urlOf: () => Promise<string>) {
    let url: string | undefined;
    const refused = await visit.attempt(async () => {
      url = await urlOf();
    });
    return url === undefined ? page(visit, { refused }) : shown({ title, main: goOnPage(title, url) });
  }

  return [
    consolePage(
      "GET /billing",
      async (visit) => {
        const sessionId = visit.query.get("session_id");
        if (sessionId === null) return page(visit);
        const cause = { actor: actorOf(visit.principal, visit.request), correlationId: deps.ids.uuid() };
        const outcome = await checkoutOutcome(deps, sessionId, { ...cause, causationId: cause.correlationId });
        return page(visit, { outcome });
      },
      { alsoSignedOut: true },
    ),

    consoleForm("POST /billing/checkout", (visit) =>
      goOn(visit, "Continue to the payment page", async () => {
        const body = { plan: visit.form.get("plan") ?? "", interval: visit.form.get("interval") ?? "" };
        return (await visit.ask("POST /v1/billing/checkout", { body })).checkout_url;
      }),
    ),

    consoleForm("POST /billing/portal", (visit) =>
      goOn(
        visit,
        "Continue to the payment portal",
        async () => (await visit.ask("POST /v1/billing/portal")).portal_url,
      ),
    ),
  ];
};
