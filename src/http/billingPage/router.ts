import express, { type Router } from "express";
import type { CheckoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { refusalHandler } from "../framework/entryPoint.ts";
import { type CountUnknown, linkEntryPoint, linkPage, onLink, onlyMethods } from "../web/linkPages.ts";
import * as pages from "./pages.ts";

export type BillingPageOptions = {
  plans(): pages.Plans;
  /** The outcome of the checkout with this id. */
  outcome(sessionId: string): Promise<CheckoutOutcome>;
  /** Counts a request for an unknown checkout; throws Rejected rate_limited if its sender has tried too many. */
  countUnknown: CountUnknown;
  /** Called with internal errors. */
  onError(error: unknown): void;
};

/**
 * Maximum number of look-ups at once. Each calls the payment processor, which limits requests per second, and anyone can invent ids. Above
 * this number a visitor is told that the checkout is being confirmed, and the page refreshes, so that real checkouts are not delayed.
 */
const mostAtOnce = 4;

/**
 * `/billing`: the plans and how to change them; with `?session_id=`, to which the payment processor redirects, the outcome of that
 * checkout. Needs no key, changes nothing, and shows nothing else of a workspace.
 */
export function billingPage(options: BillingPageOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  let underWay = 0;
  async function outcome(sessionId: string): Promise<CheckoutOutcome> {
    if (underWay >= mostAtOnce) return { kind: "being_confirmed" };
    underWay++;
    try {
      return await options.outcome(sessionId);
    } finally {
      underWay--;
    }
  }
  const entryPoint = linkEntryPoint(
    async ({ query: { session_id: sessionId } }) => {
      if (sessionId === undefined) return "plans";
      const found = await outcome(typeof sessionId === "string" ? sessionId : "");
      return found.kind === "unknown" ? undefined : found;
    },
    pages,
    options,
  );
  const show = onLink(entryPoint, async (found) =>
    linkPage(200, found === "plans" ? pages.plansPage(options.plans()) : pages.outcomePage(found, options.plans())),
  );
  router.route("/billing").get(show).all(onlyMethods("GET, HEAD", pages));
  router.use("/billing", refusalHandler(entryPoint));
  return router;
}
