import express, { type Request, type Router } from "express";
import type { UnsubscribeChange, UnsubscribeLink, UnsubscribeLinks } from "#src/commands/serviceMail/unsubscribes.ts";
import type { Clock } from "#src/platform/clock.ts";
import { refusing } from "../framework/door.ts";
import type { Reply } from "../framework/reply.ts";
import {
  type CountUnknown,
  callerOf,
  linkDoor,
  linkPage,
  onlyMethods,
  throughLink,
  UnknownLink,
} from "../web/linkPages.ts";
import { type Bound, checkNonce, issueNonce } from "../web/nonce.ts";
import * as pages from "./pages.ts";

export type StopPagesOptions = UnsubscribeLinks & {
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
export function stopPages(options: StopPagesOptions): Router {
  const router = express.Router();
  const form = express.urlencoded({ extended: false, limit: maxFormBytes, parameterLimit: 20, inflate: false });
  const door = linkDoor((request) => options.find(tokenOf(request)), pages, options);
  const show = throughLink(door, async (link, { request }) => linkPage(200, askingPage(options, request, { link })));
  const press = throughLink(door, (link, { request }) => pressed(options, request, link));
  router.route("/stop/:token").get(show).post(form, press).all(onlyMethods("GET, HEAD, POST", pages));
  router.use("/stop", refusing(door));
  return router;
}

async function pressed(options: StopPagesOptions, request: Request, link: UnsubscribeLink): Promise<Reply> {
  const { nonce } = (request.body ?? {}) as { nonce?: unknown };
  const shown = { nonce: typeof nonce === "string" ? nonce : "", nowMs: options.clock.now().getTime() };
  // The nonce names the action that the page's button showed: it is done even if another person changed the state meanwhile.
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
  options: StopPagesOptions,
  request: Request,
  { link, notice }: { link: UnsubscribeLink; notice?: string },
): string => pages.stopPage(link, { nonce: nonceFor(options, request, link), notice });

const nonceFor = ({ nonceKey, clock }: StopPagesOptions, request: Request, link: UnsubscribeLink): string =>
  issueNonce(nonceKey, boundTo(request, pages.changeOf(link)), clock.now().getTime());

const boundTo = (request: Request, change: UnsubscribeChange): Bound => ["stop page", tokenOf(request), change];

const tokenOf = (request: Request): string => String(request.params.token);
