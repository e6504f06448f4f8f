import { randomUUID } from "node:crypto";
import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import type { Logger } from "pino";
import { workspaceById } from "#projections/workspaces/queries.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { errorHandler } from "../../framework/errorHandler.ts";
import type { Flight, InFlight } from "../../framework/keys/inFlight.ts";
import type { SessionPrincipal } from "../../framework/principal.ts";
import type { HitCounter } from "../../framework/rateLimits/hitCounter.ts";
import { isSameOrigin, ownPath } from "../../framework/sameOrigin.ts";
import { send } from "../../framework/send.ts";
import { answerDocument, leadTo } from "../../web/answers.ts";
import type { Assets } from "../../web/assets.ts";
import type { SessionCookie } from "../../web/cookie.ts";
import { sessionOf } from "../../web/sessionOf.ts";
import { consoleDocument } from "./document.ts";
import * as errorPages from "./errorPages.ts";
import { isNotice } from "./notices.ts";
import type { ConsoleAnswer, ConsoleRoute } from "./page.ts";
import { PasswordNeeded, type Visit } from "./visit.ts";
import { refusedBy, type VisitOptions, visitOf } from "./visitOf.ts";

export type ConsoleOptions = VisitOptions & {
  deps: HttpDependencies;
  cookie: SessionCookie;
  inFlight: InFlight;
  /** Resolves when this instance knows every end of a right that another may have answered. */
  upToDate(): void | Promise<void>;
  counter: HitCounter;
  /** Requests a minute of one session. */
  rate: number | "off";
  assets: Assets;
  publicUrl: string;
  logger: Logger;
};

/** A form with two letters of 256 KB and what surrounds them. */
const maxFormBytes = 1024 * 1024;

/** The pages of the console: only for who is signed in, only as HTML. What is asked for in another way is left to the routes of the API. */
export function consoleRouter(routes: readonly ConsoleRoute[], options: ConsoleOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const form = express.text({ type: "application/x-www-form-urlencoded", limit: maxFormBytes, inflate: false });
  router.use(options.assets.router);
  for (const route of routes) {
    const handlers = [
      route.options.events ? onlyStreams : onlyPages,
      ...(route.method === "POST" ? [form] : []),
      serveRoute(route, options),
    ];
    router[route.method === "GET" ? "get" : "post"](route.path, ...handlers);
  }
  router.use(unknownPages(routes, options));
  router.use(failed(options));
  return router;
}

/** A client of the API gets what it always got: HTML is for browsers. */
const onlyPages: RequestHandler = (request, _, next) => (isPage(request) ? next() : next("route"));

const onlyStreams: RequestHandler = ({ headers }, _, next) =>
  headers.authorization === undefined && /\btext\/event-stream\b/.test(headers.accept ?? "") ? next() : next("route");

const isPage = ({ headers }: Request): boolean =>
  headers.authorization === undefined &&
  (/\btext\/html\b/.test(headers.accept ?? "") || headers["hx-request"] === "true");

function serveRoute(route: ConsoleRoute, options: ConsoleOptions): RequestHandler {
  return async (request, response, next) => {
    const quietly = route.options.events === true || request.headers["hx-request"] === "true";
    const session = await signedIn(request, response, { ...options, quietly });
    if (!session && route.options.events) return answerDocument(response, 401, "");
    if (!session) return route.options.alsoSignedOut ? next("router") : toSignIn(request, response, route);
    const { principal, flight } = session;
    try {
      await requireRate(options, principal);
      const visit = visitOf(request, { route, options, principal, flight });
      if (route.method === "POST") requireOwnForm(visit, options);
      if (route.options.sensitive) visit.requirePassword();
      const answer = await route.handler(visit);
      await options.upToDate();
      if (flight.revoked) return errorPages.endedPage(response, options);
      await answerWith(answer, { visit, response, options });
    } catch (error) {
      if (error instanceof PasswordNeeded) return toPassword(request, response);
      if (flight.revoked && !response.headersSent) return errorPages.endedPage(response, options);
      throw error;
    } finally {
      flight.leave();
    }
  };
}

/** `quietly`: a script asks, and nobody may be there. Who is signed in and what they may do now; the cookie is replaced where it is due. Answers by itself, and undefined, for who may do nothing. */
async function signedIn(
  request: Request,
  response: Response,
  { deps, cookie, principalOf, inFlight, quietly }: ConsoleOptions & { quietly: boolean },
): Promise<{ principal: SessionPrincipal; flight: Flight } | undefined> {
  const session = await sessionOf({ sessions: deps.accounts.sessions, cookie, quietly }, request, response);
  if (!session) return undefined;
  const flight = inFlight.enter(session.id, randomUUID());
  const principal = await principalOf(session).catch((error) => {
    flight.leave();
    throw error;
  });
  if (principal && !flight.revoked) return { principal, flight };
  flight.leave();
  throw new NoWorkspace(session.userId);
}

/** Signed in, and a member of nothing: removed, or not yet invited. */
class NoWorkspace extends Error {
  override readonly name = "NoWorkspace";
  readonly userId: string;
  constructor(userId: string) {
    super("signed in, without a workspace");
    this.userId = userId;
  }
}

async function requireRate({ counter, rate, clock }: ConsoleOptions, { user }: SessionPrincipal): Promise<void> {
  if (rate === "off") return;
  const { hits, resetsAt } = await counter.hit(`console ${user.id}`);
  if (hits <= rate) return;
  const retryAfter = Math.max(1, Math.ceil((resetsAt.getTime() - clock.now().getTime()) / 1000));
  throw new Rejected("rate_limited", `that was too much at once: wait ${retryAfter} seconds, and load the page again`, {
    retryAfter,
  });
}

/** Throws NotOwnForm for a form that no page of this session has sent. */
function requireOwnForm({ request, principal, form }: Visit, { tokens, publicUrl }: ConsoleOptions): void {
  if (!isSameOrigin(request, publicUrl) || !tokens.isRight(principal.id, form.get("form_token")))
    throw new errorPages.NotOwnForm();
}

async function answerWith(
  answer: ConsoleAnswer,
  { visit, response, options }: { visit: Visit; response: Response; options: ConsoleOptions },
): Promise<void> {
  switch (answer.kind) {
    case "page": {
      const done = visit.query.get("done");
      const notice = isNotice(done) ? done : undefined;
      const workspaceName = await nameOf(options.deps, visit.principal.workspaceId);
      const page = consoleDocument(answer.page, visit, { assets: options.assets, workspaceName, notice });
      return answerDocument(response, answer.page.status ?? 200, page);
    }
    case "elsewhere":
      return leadTo(response, withNotice(answer.path, answer.notice));
    case "reply":
      return send(response, answer.reply, visit.signal);
  }
}

const nameOf = async ({ reads }: HttpDependencies, workspaceId: string): Promise<string> =>
  (await workspaceById(reads, workspaceId))?.name ?? "";

function withNotice(path: string, notice: string | undefined): string {
  if (notice === undefined) return path;
  const url = new URL(path, "http://own.invalid");
  url.searchParams.set("done", notice);
  return `${url.pathname}${url.search}${url.hash}`;
}

function toSignIn(request: Request, response: Response, { method }: Pick<ConsoleRoute, "method">): void {
  const next = ownPath(method === "GET" ? request.originalUrl : pageOf(request));
  leadTo(response, next === undefined ? "/sign-in" : `/sign-in?next=${encodeURIComponent(next)}`);
}

function toPassword(request: Request, response: Response): void {
  const next = ownPath(request.method === "GET" ? request.originalUrl : pageOf(request)) ?? "/settings";
  leadTo(response, `/settings/confirm?next=${encodeURIComponent(next)}`);
}

/** The page whose form this is, as the browser says. */
function pageOf({ headers }: Request): string | undefined {
  try {
    const { pathname, search } = new URL(headers.referer ?? "");
    return `${pathname}${search}`;
  } catch {
    return undefined;
  }
}

/** Below a place of the console, a browser is told in words that there is nothing. */
function unknownPages(routes: readonly ConsoleRoute[], options: ConsoleOptions): RequestHandler {
  const places = new Set(routes.map(({ path }) => path.split("/")[1]));
  return (request, response, next) => {
    if (!isPage(request) || !places.has(request.path.split("/")[1])) return next();
    errorPages.unknownPage(response, options);
  };
}

const failed = (options: ConsoleOptions) =>
  errorHandler(async ({ error, request, response }) => {
    if (response.headersSent) return void response.destroy();
    if (error instanceof NoWorkspace) return errorPages.noWorkspacePage(response, options);
    if (error instanceof errorPages.NotOwnForm) return errorPages.notOwnFormPage(response, options);
    const { status } = error as { status?: unknown };
    // The form could not be read: too large, or no form at all.
    if (typeof status === "number" && status >= 400 && status < 500)
      return errorPages.unreadablePage(response, options, status);
    if (!(error instanceof Rejected) && !(error instanceof Unavailable))
      options.logger.error({ err: error }, "a page of the console failed");
    errorPages.refusedPage(response, options, refusedBy(error, request));
  });
