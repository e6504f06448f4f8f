import express, { type Router } from "express";
import type { CheckoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { refusing } from "../framework/door.ts";
import { type CountUnknown, linkDoor, linkPage, onlyMethods, throughLink } from "../web/linkPages.ts";
import * as pages from "./pages.ts";

export type BillingPageOptions = {
  plans(): pages.Plans;
  /** What came of the checkout with this id. */
  outcome(sessionId: string): Promise<CheckoutOutcome>;
  /** Counts a checkout that there is not; throws Rejected rate_limited when its sender has tried too many. */
  countUnknown: CountUnknown;
  /** Called with errors that are our own fault. */
  onError(error: unknown): void;
};

/**
 * Each look-up asks the payment processor, which takes only so many requests in a second, and anybody may make up ids. So that checkouts and plans do
 * not wait for strangers, a visitor beside so many is told that the checkout is being confirmed, and the page looks again by itself.
 */
const mostAtOnce = 4;

/**
 * `/billing`: the plans and how to change them; with `?session_id=`, where the payment processor sends people back to, what that checkout came
 * to. It needs no key, changes nothing, and shows nothing else of a workspace.
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
  const door = linkDoor(
    async ({ query: { session_id: sessionId } }) => {
      if (sessionId === undefined) return "plans";
      const found = await outcome(typeof sessionId === "string" ? sessionId : "");
      return found.kind === "unknown" ? undefined : found;
    },
    pages,
    options,
  );
  const show = throughLink(door, async (found) =>
    linkPage(200, found === "plans" ? pages.plansPage(options.plans()) : pages.outcomePage(found, options.plans())),
  );
  router.route("/billing").get(show).all(onlyMethods("GET, HEAD", pages));
  router.use("/billing", refusing(door));
  return router;
}
