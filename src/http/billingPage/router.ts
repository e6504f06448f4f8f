import express, { type Request, type Response, type Router } from "express";
import type { CheckoutOutcome } from "#src/commands/billing/checkoutOutcome.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { errorHandler } from "../framework/errorHandler.ts";
import { answerPage as answer, answerUnknownLink, type CountUnknown } from "../web/linkPages.ts";
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
  router
    .route("/billing")
    .get(async (request, response) => show({ ...options, outcome }, request, response))
    .all((_, response) => answer(response.setHeader("Allow", "GET, HEAD"), 405, pages.methodPage()));
  router.use(
    "/billing",
    errorHandler(({ error, response, next }) => {
      if (response.headersSent) return next(error);
      if (error instanceof Unavailable)
        return answer(response.setHeader("Retry-After", "2"), 503, pages.unavailablePage());
      options.onError(error);
      answer(response, 500, pages.brokenPage());
    }),
  );
  return router;
}

async function show(options: BillingPageOptions, request: Request, response: Response): Promise<void> {
  const { session_id: sessionId } = request.query;
  if (sessionId === undefined) return answer(response, 200, pages.plansPage(options.plans()));
  const outcome = await options.outcome(typeof sessionId === "string" ? sessionId : "");
  if (outcome.kind === "unknown") {
    const { countUnknown } = options;
    return answerUnknownLink(request, response, { countUnknown, pages });
  }
  answer(response, 200, pages.outcomePage(outcome, options.plans()));
}
