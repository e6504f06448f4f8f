import { checkoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { html } from "#src/html/html.ts";
import { planLimits } from "#streams/workspace/planLimits.ts";
import { actorOf } from "../../framework/principal.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleRoute, consoleForm, consolePage, shown } from "../framework/page.ts";
import type { Refused, Visit } from "../framework/visit.ts";
import { billingPage, goOnPage, type Outcome } from "./billingPages.ts";

/**
 * `/billing` of a signed-in person: the workspace's plan, what is used of it, and the ways to the payment processor. Who is not signed in gets the page
 * of src/http/billingPage at the same address.
 */
export const billingRoutes = (deps: ConsoleDependencies): ConsoleRoute[] => {
  async function page(
    visit: Visit,
    { refused, outcome }: { refused?: Refused | undefined; outcome?: Outcome | undefined } = {},
  ) {
    const subscription = await visit.ask("GET /v1/billing/subscription");
    const isConnected = deps.payments !== null;
    const limits = deps.settings.planLimits ?? planLimits;
    return shown({
      title: outcome?.kind === "being_confirmed" ? "Your checkout is being confirmed" : "Plan and billing",
      status: refused?.status ?? (outcome?.kind === "unknown" ? 404 : 200),
      main: billingPage(visit, { subscription, limits, isConnected, refused, outcome }),
      // The processor tells us within seconds.
      ...(outcome?.kind === "being_confirmed" && { head: html`<meta http-equiv="refresh" content="10">` }),
    });
  }

  /** Asks for a page of the payment processor, and shows the way there: a form may lead to our own pages alone. */
  async function goOn(visit: Visit, title: string, urlOf: () => Promise<string>) {
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
      goOn(visit, "Go on to the payment page", async () => {
        const body = { plan: visit.form.get("plan") ?? "", interval: visit.form.get("interval") ?? "" };
        return (await visit.ask("POST /v1/billing/checkout", { body })).checkout_url;
      }),
    ),

    consoleForm("POST /billing/portal", (visit) =>
      goOn(visit, "Go on to the payment portal", async () => (await visit.ask("POST /v1/billing/portal")).portal_url),
    ),
  ];
};
