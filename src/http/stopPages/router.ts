import express, { type ErrorRequestHandler, type Request, type Response, type Router } from "express";
import type { Clock } from "#src/clock.ts";
import type { StopLink, StopLinkChange, StopLinks } from "#src/commands/serviceMail/stops.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { errorHandler } from "../framework/errorHandler.ts";
import { answerPage as answer, answerUnknownLink, callerOf } from "../web/linkPages.ts";
import { type Bound, checkNonce, issueNonce } from "../web/nonce.ts";
import * as pages from "./pages.ts";

export type StopPagesOptions = StopLinks & {
  /** A secret of at least 32 bytes, the same in every instance of the service. */
  nonceKey: Buffer;
  clock: Pick<Clock, "now">;
  /** Counts a link that there is not; throws Rejected rate_limited when its sender has tried too many. */
  countUnknown?: (request: Request) => Promise<void>;
  /** Called with errors that are our own fault. */
  onError?: (error: unknown, request: Request) => void;
};

const maxFormBytes = 2048;

/**
 * The pages behind the link under each mail of the service's own. GET and HEAD of `/stop/:token` show and never change anything; POST stops such
 * mail, lets it come again, or has a new link mailed, with the nonce of a page that was opened within the last hour.
 */
export function stopPages(options: StopPagesOptions): Router {
  const router = express.Router();
  const form = express.urlencoded({ extended: false, limit: maxFormBytes, parameterLimit: 20, inflate: false });
  router
    .route("/stop/:token")
    .get(async (request, response) => show(options, request, response))
    .post(form, async (request, response) => press(options, request, response))
    .all((_, response) => answer(response.setHeader("Allow", "GET, HEAD, POST"), 405, pages.methodPage()));
  router.use("/stop", failed(options));
  return router;
}

async function show(options: StopPagesOptions, request: Request, response: Response): Promise<void> {
  const link = await options.find(tokenOf(request));
  if (!link) return answerUnknown(options, request, response);
  answer(response, 200, pages.stopPage(link, { nonce: nonceFor(options, request, link) }));
}

async function press(options: StopPagesOptions, request: Request, response: Response): Promise<void> {
  const link = await options.find(tokenOf(request));
  if (!link) return answerUnknown(options, request, response);
  const { nonce } = (request.body ?? {}) as { nonce?: unknown };
  const shown = { nonce: typeof nonce === "string" ? nonce : "", nowMs: options.clock.now().getTime() };
  // A nonce says what its page's button did: of a page from before somebody else's press, the button does what it said.
  const to = (["stop", "resume", "renew"] as const).find(
    (change) => checkNonce(options.nonceKey, boundTo(request, change), shown) === "good",
  );
  if (to === undefined) {
    const notice =
      "Nothing was changed: this page was open for more than an hour, or the button was not pressed on it. Please press the button once more.";
    return answer(response, 403, pages.stopPage(link, { nonce: nonceFor(options, request, link), notice }));
  }
  const changed = await options.change(tokenOf(request), to, callerOf(request));
  if (!changed) return answerUnknown(options, request, response);
  answer(response, 200, pages.changedPage(changed, nonceFor(options, request, changed)));
}

const nonceFor = ({ nonceKey, clock }: StopPagesOptions, request: Request, link: StopLink): string =>
  issueNonce(nonceKey, boundTo(request, pages.changeOf(link)), clock.now().getTime());

const boundTo = (request: Request, change: StopLinkChange): Bound => ["stop page", tokenOf(request), change];

const tokenOf = (request: Request): string => String(request.params.token);

const answerUnknown = ({ countUnknown }: StopPagesOptions, request: Request, response: Response): Promise<void> =>
  answerUnknownLink(request, response, { countUnknown, pages });

const failed = ({ onError }: StopPagesOptions): ErrorRequestHandler =>
  errorHandler(({ error, request, response, next }) => {
    if (response.headersSent) return next(error);
    const { status, retryAfter = 2 } = error as { status?: unknown; retryAfter?: number };
    if (error instanceof Unavailable) {
      const page = pages.unavailablePage(request.method === "POST");
      return answer(response.setHeader("Retry-After", String(retryAfter)), 503, page);
    }
    // The form could not be read: too large, or no form at all.
    if (typeof status === "number" && status >= 400 && status < 500)
      return answer(response, status, pages.unavailablePage(false));
    onError?.(error, request);
    answer(response, 500, pages.brokenPage());
  });
