import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import type { Logger } from "pino";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import { answer, type EntryPoint, RightEnded, refusalHandler } from "../../framework/entryPoint.ts";
import type { SessionPrincipal } from "../../framework/principal.ts";
import { countHit } from "../../framework/rateLimits/countHit.ts";
import type { HitCounter } from "../../framework/rateLimits/hitCounter.ts";
import type { Reply } from "../../framework/reply.ts";
import { isSameOrigin, ownPath } from "../../framework/sameOrigin.ts";
import { send } from "../../framework/send.ts";
import { documentReply, redirectTo } from "../../web/answers.ts";
import type { Assets } from "../../web/assets.ts";
import { NotOwnForm, NoWorkspace, SignedOut, unreadableStatus } from "../../web/refusals.ts";
import { type SessionOptions, sessionCredential } from "../../web/sessionPrincipal.ts";
import { createPageContext, type PageContextOptions, refusedBy } from "./createPageContext.ts";
import { consoleDocument } from "./document.ts";
import * as errorPages from "./errorPages.ts";
import { isNotice } from "./notices.ts";
import type { ConsoleAnswer, ConsoleRoute } from "./page.ts";
import { type PageContext, PasswordNeeded } from "./pageContext.ts";

export type ConsoleOptions = PageContextOptions &
  SessionOptions & {
    counter: HitCounter;
    /** Requests a minute per session. */
    rate: number | "off";
    assets: Assets;
    publicUrl: string;
    logger: Logger;
  };

/** Bytes: room for a form with two texts of 256 KB and its other fields. */
const maxFormBytes = 1024 * 1024;

/** Router of the console's pages: for signed-in people, as HTML. Other requests at the same paths are passed to the API's routes. */
export function consoleRouter(routes: readonly ConsoleRoute[], options: ConsoleOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(options.assets.router);
  for (const route of routes) {
    const only = route.options.events ? onlyStreams : onlyPages;
    router[route.method === "GET" ? "get" : "post"](route.path, only, serveRoute(route, options));
  }
  router.use(unknownPages(routes, options));
  router.use(refusalHandler({ refused: (error, request) => refusal(error, request, options) }));
  return router;
}

/** Passes requests that do not accept HTML to the API's routes. */
const onlyPages: RequestHandler = (request, _, next) => (isPage(request) ? next() : next("route"));

const onlyStreams: RequestHandler = ({ headers }, _, next) =>
  headers.authorization === undefined && /\btext\/event-stream\b/.test(headers.accept ?? "") ? next() : next("route");

const isPage = ({ headers }: Request): boolean =>
  headers.authorization === undefined &&
  (/\btext\/html\b/.test(headers.accept ?? "") || headers["hx-request"] === "true");

function serveRoute(route: ConsoleRoute, options: ConsoleOptions): RequestHandler {
  const entryPoint = consoleEntryPoint(route, options);
  return async (request, response, next) => {
    const isAnswered = await answer({ request, response }, entryPoint, async ({ who: principal, signal }) => {
      await requireRate(options, principal);
      if (route.method === "POST") await readForm(request, response);
      // The session may have ended while the form arrived: do not start the handler then.
      if (signal.aborted) throw new RightEnded();
      const context = createPageContext(request, { route, options, principal, signal });
      if (route.method === "POST") requireOwnForm(context, options);
      if (route.options.sensitive) context.requirePassword();
      return replyOf(await route.handler(context), context, options);
    });
    if (!isAnswered) next("router");
  };
}

const form = express.text({ type: "application/x-www-form-urlencoded", limit: maxFormBytes, inflate: false });

/** Reads a form's body. Called only for signed-in people, so that others cannot use up memory. Throws Express's error. */
const readForm = (request: Request, response: Response): Promise<void> =>
  new Promise((resolve, reject) => form(request, response, (fault?: unknown) => (fault ? reject(fault) : resolve())));

/** Admits people by session, and answers refusals with pages. */
const consoleEntryPoint = (route: ConsoleRoute, options: ConsoleOptions): EntryPoint<SessionPrincipal> => ({
  ...sessionCredential(options, ({ headers }) => route.options.events === true || headers["hx-request"] === "true"),
  refused(error, request) {
    if (!(error instanceof SignedOut)) return refusal(error, request, options);
    if (route.options.events) return documentReply(401, "");
    return route.options.alsoSignedOut ? undefined : toSignIn(request, route);
  },
});

/** The page for a refusal, or for an internal error, which is logged. */
function refusal(error: unknown, request: Request, { assets, logger }: ConsoleOptions): Reply {
  if (error instanceof PasswordNeeded) return toPassword(request);
  if (error instanceof RightEnded) return errorPages.endedPage(assets);
  if (error instanceof NoWorkspace) return errorPages.noWorkspacePage(assets);
  if (error instanceof NotOwnForm) return errorPages.notOwnFormPage(assets);
  const unreadable = unreadableStatus(error);
  if (unreadable !== undefined) return errorPages.unreadablePage(assets, unreadable);
  if (!(error instanceof Rejected) && !(error instanceof Unavailable))
    logger.error({ err: error }, "a page of the console failed");
  return errorPages.refusedPage(assets, refusedBy(error, request));
}

async function requireRate({ counter, rate }: ConsoleOptions, { user }: SessionPrincipal): Promise<void> {
  if (rate === "off") return;
  const sentence = (seconds: number) => `too many requests: wait ${seconds} seconds, and load the page again`;
  await countHit(counter, { name: "console", most: rate, key: `console ${user.id}`, sentence });
}

/** Throws NotOwnForm for a form that was not served by a page of this session. */
function requireOwnForm({ request, principal, form }: PageContext, { tokens, publicUrl }: ConsoleOptions): void {
  if (!isSameOrigin(request, publicUrl) || !tokens.isRight(principal.id, form.get("form_token")))
    throw new NotOwnForm();
}

async function replyOf(shown: ConsoleAnswer, context: PageContext, { assets }: ConsoleOptions): Promise<Reply> {
  switch (shown.kind) {
    case "page": {
      const done = context.query.get("done");
      const notice = isNotice(done) ? done : undefined;
      const workspaceName = (await context.workspace())?.name ?? "";
      return documentReply(
        shown.page.status ?? 200,
        consoleDocument(shown.page, context, { assets, workspaceName, notice }),
      );
    }
    case "elsewhere":
      return redirectTo(withNotice(shown.path, shown.notice));
    case "reply":
      return shown.reply;
  }
}

function withNotice(path: string, notice: string | undefined): string {
  if (notice === undefined) return path;
  const url = new URL(path, "http://own.invalid");
  url.searchParams.set("done", notice);
  return `${url.pathname}${url.search}${url.hash}`;
}

function toSignIn(request: Request, { method }: Pick<ConsoleRoute, "method">): Reply {
  const next = ownPath(method === "GET" ? request.originalUrl : pageOf(request));
  return redirectTo(next === undefined ? "/sign-in" : `/sign-in?next=${encodeURIComponent(next)}`);
}

function toPassword(request: Request): Reply {
  const next = ownPath(request.method === "GET" ? request.originalUrl : pageOf(request)) ?? "/settings";
  return redirectTo(`/settings/confirm?next=${encodeURIComponent(next)}`);
}

/** The path of the page that contained the form, by the Referer. */
function pageOf({ headers }: Request): string | undefined {
  try {
    const { pathname, search } = new URL(headers.referer ?? "");
    return `${pathname}${search}`;
  } catch {
    return undefined;
  }
}

/** Answers unknown paths below a console page with a 404 page, to browsers. */
function unknownPages(routes: readonly ConsoleRoute[], { assets }: ConsoleOptions): RequestHandler {
  const places = new Set(routes.map(({ path }) => path.split("/")[1]));
  return (request, response, next) => {
    if (!isPage(request) || !places.has(request.path.split("/")[1])) return next();
    return send(response, errorPages.unknownPage(assets));
  };
}
