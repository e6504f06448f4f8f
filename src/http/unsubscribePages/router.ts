import express, { type Request, type Router } from "express";
import type { UnsubscribeChange, UnsubscribeLink, UnsubscribeLinks } from "#src/commands/serviceMail/unsubscribes.ts";
import type { Clock } from "#src/platform/clock.ts";
import { refusalHandler } from "../framework/entryPoint.ts";
import type { Reply } from "../framework/reply.ts";
import {
  type CountUnknown,
  callerOf,
  linkEntryPoint,
  linkPage,
  onLink,
  onlyMethods,
  UnknownLink,
} from "../web/linkPages.ts";
import { checkNonce, issueNonce, type NonceBinding } from "../web/nonce.ts";
import * as pages from "./pages.ts";

export type UnsubscribePagesOptions = UnsubscribeLinks & {
  /** A secret of at least 32 bytes, equal in all instances of the service. */
  nonceKey: Buffer;
  clock: Pick<Clock, "now">;
  countUnknown?: CountUnknown;
  /** Called with internal errors. */
  onError?: (error: unknown, request: Request) => void;
};

const maxFormBytes = 2048;

/**
 * The pages behind the unsubscribe link in each notification mail. GET and HEAD of `/stop/:token` never change anything; POST stops such
 * mail, resumes it, or mails a new link, and needs the nonce of a page opened within the last hour.
 */
export function unsubscribePages(options: UnsubscribePagesOptions): Router {
  const router = express.Router();
  const form = express.urlencoded({ extended: false, limit: maxFormBytes, parameterLimit: 20, inflate: false });
  const entryPoint = linkEntryPoint((request) => options.find(tokenOf(request)), pages, options);
  const show = onLink(entryPoint, async (link, { request }) => linkPage(200, askingPage(options, request, { link })));
  const press = onLink(entryPoint, (link, { request }) => pressed(options, request, link));
  router.route("/stop/:token").get(show).post(form, press).all(onlyMethods("GET, HEAD, POST", pages));
  router.use("/stop", refusalHandler(entryPoint));
  return router;
}

async function pressed(options: UnsubscribePagesOptions, request: Request, link: UnsubscribeLink): Promise<Reply> {
  const { nonce } = (request.body ?? {}) as { nonce?: unknown };
  const shown = { nonce: typeof nonce === "string" ? nonce : "", nowMs: options.clock.now().getTime() };
  // The nonce names the action on the page's button. That action is carried out even if another person changed the state in between.
  const to = (["stop", "resume", "renew"] as const).find(
    (change) => checkNonce(options.nonceKey, boundTo(request, change), shown) === "good",
  );
  if (to === undefined) {
    const notice =
      "Nothing was changed: this page was open for more than an hour, or the button was not pressed on it. Please press the button again.";
    return linkPage(403, askingPage(options, request, { link, notice }));
  }
  const changed = await options.change(tokenOf(request), to, callerOf(request));
  if (!changed) throw new UnknownLink();
  return linkPage(200, pages.changedPage(changed, nonceFor(options, request, changed)));
}

/** The page with its button. `notice`: why a submission did not count. */
const askingPage = (
  options: UnsubscribePagesOptions,
  request: Request,
  { link, notice }: { link: UnsubscribeLink; notice?: string },
): string => pages.unsubscribePage(link, { nonce: nonceFor(options, request, link), notice });

const nonceFor = ({ nonceKey, clock }: UnsubscribePagesOptions, request: Request, link: UnsubscribeLink): string =>
  issueNonce(nonceKey, boundTo(request, pages.changeOf(link)), clock.now().getTime());

const boundTo = (request: Request, change: UnsubscribeChange): NonceBinding => ["stop page", tokenOf(request), change];

const tokenOf = (request: Request): string => String(request.params.token);
