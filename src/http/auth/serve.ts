import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import type { Logger } from "pino";
import type { TSchema } from "typebox";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { WrongPassword } from "#src/commands/users/passwords.ts";
import { type SignedIn, signedInBy } from "#src/commands/users/signIn.ts";
import { asSentence } from "#src/html/asSentence.ts";
import { TooManyHashes } from "#src/platform/accounts/passwords.ts";
import type { Session } from "#src/platform/accounts/sessions.ts";
import { Rejected } from "#streams/decider.ts";
import { parseJson } from "../framework/body/parseJson.ts";
import { StructureScan } from "../framework/body/structure.ts";
import { answer, type EntryPoint, RightEnded, refusalHandler } from "../framework/entryPoint.ts";
import { errorReply, invalid } from "../framework/errors.ts";
import type { RequestsInFlight } from "../framework/keys/requestsInFlight.ts";
import type { Revocation } from "../framework/keys/revocation.ts";
import { requireDocumented } from "../framework/openapi/documented.ts";
import { Reply } from "../framework/reply.ts";
import { isSameOrigin, ownPath, requireNoOtherSite } from "../framework/sameOrigin.ts";
import { documentReply, redirectTo } from "../web/answers.ts";
import type { Assets } from "../web/assets.ts";
import type { SessionCookie } from "../web/cookie.ts";
import type { FormTokens } from "../web/formToken.ts";
import { plainDocument } from "../web/layout.ts";
import { type CountUnknown, callerOf } from "../web/linkPages.ts";
import { NotOwnForm, SignedOut, unreadableStatus } from "../web/refusals.ts";
import { sessionOf } from "../web/sessionOf.ts";
import type { AuthAction, AuthCall, AuthOutcome, FormPage, FormState } from "./action.ts";
import type { AuthLimits } from "./limits.ts";
import * as pages from "./pages.ts";

export type AuthOptions = {
  deps: Dependencies;
  cookie: SessionCookie;
  tokens: FormTokens;
  limits: AuthLimits;
  assets: Assets;
  inFlight: RequestsInFlight;
  revocation: Pick<Revocation, "drain" | "upToDate">;
  countUnknown: CountUnknown;
  publicUrl: string;
  logger: Logger;
  /** In tests: an answer that differs from its documentation becomes a 500. */
  checkResponses: boolean;
};

/** Large enough that a password of 10 kB is refused for its length, not for the size of the body. */
const maxBodyBytes = 64 * 1024;

const isForm = ({ headers }: Request): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(headers["content-type"] ?? "");

const isLook = ({ method }: Request): boolean => method === "GET" || method === "HEAD";

/** Router for the actions of /auth. */
export function authRouter(actions: readonly AuthAction[], options: AuthOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const body = express.raw({ type: () => true, limit: maxBodyBytes, inflate: false });
  for (const action of actions) {
    const handler = serveAction(action, options);
    if (action.route.method === "GET") router.get(action.route.path, handler);
    else router.post(action.route.path, body, handler);
  }
  router.use("/auth", refusalHandler({ refused: (error, request) => refusal(error, request, options) }));
  return router;
}

type Visitor = {
  /** The browser's session, if any; it may belong to another person than the action is about. */
  session: Session | undefined;
  /** The session that authorises the action, and whose form token is checked; undefined if the action runs without a session. */
  acting: Session | undefined;
  /** The signed-in person; set only for actions that need a session. */
  who: SignedIn | undefined;
  /** The submitted form of a browser without script; undefined for JSON. */
  form: URLSearchParams | undefined;
  /** The refusal if the rate limit is exceeded. */
  throttled: unknown;
};

/** Serves one action: JSON is answered with JSON; a form redirects to the next page, or is shown again. */
function serveAction(action: AuthAction, options: AuthOptions): RequestHandler {
  const entryPoint = actionEntryPoint(action, options);
  return async (request, response) => {
    await answer({ request, response }, entryPoint, async ({ who: visitor, callId }) => {
      const { form } = visitor;
      try {
        if (visitor.throttled) throw visitor.throttled;
        const body = form ? fieldsOf(form, action) : isLook(request) ? {} : readJson(request);
        action.route.checkBody(body);
        const next = ownPath(form?.get("next"));
        const done = await carryOut(action, { request, body, next, ...visitor }, options);
        const reply = new Reply({ json: done.json }, action.route.options.status ?? 200, {});
        if (options.checkResponses) requireDocumented(action.route, reply);
        await finish(response, done, { ...options, callId });
        return form ? redirectTo(done.next) : reply;
      } catch (error) {
        if (!(error instanceof Rejected) || !form || !action.form) throw error;
        const page = await action.form(stateOf({ form, error, formToken: tokenOf(visitor.session, options) }));
        return pageReply(page, options, errorReply(error, { requestId: String(request.id) }));
      }
    });
  };
}

function actionEntryPoint(action: AuthAction, options: AuthOptions): EntryPoint<Visitor> {
  const { deps, publicUrl, tokens } = options;
  return {
    requireOrigin(request) {
      if (!isForm(request)) requireNoOtherSite(request, publicUrl);
      else if (!isSameOrigin(request, publicUrl)) throw new NotOwnForm();
    },
    async credential(request, response) {
      // Every request counts, also one that is then refused because the browser has no session.
      const throttled = await options.limits.count(action.limit, request, response).catch((error: unknown) => error);
      const session = await sessionOf({ ...options, sessions: deps.accounts.sessions }, request, response);
      const form = isForm(request) ? new URLSearchParams(String(request.body ?? "")) : undefined;
      const isSignedIns = action.needsSession || (action.orSession && !form?.get("password"));
      const acting = isSignedIns ? session : undefined;
      if (form && acting && !tokens.isRight(acting.id, form.get("form_token"))) throw new NotOwnForm();
      const who = action.needsSession && session ? await signedInBy(deps, session) : undefined;
      if (action.needsSession && !who) throw throttled ?? new SignedOut();
      return { session, acting, who, form, throttled };
    },
    enter: ({ acting }, callId) => acting && options.inFlight.enter(acting.id, callId),
    upToDate: () => options.revocation.upToDate(),
    refused: (error, request) => refusal(error, request, options),
  };
}

const tokenOf = (session: Session | undefined, { tokens }: AuthOptions): string =>
  session === undefined ? "" : tokens.of(session.id);

type Carried = Pick<Visitor, "session" | "who"> & { request: Request; body: unknown; next: string | undefined };

function carryOut(
  action: AuthAction,
  { request, body, session, who, next }: Carried,
  options: AuthOptions,
): Promise<AuthOutcome> {
  const call: AuthCall<unknown> = {
    ...{ body, session, next, by: callerOf(request) },
    guarding: (account, work) =>
      options.limits.guarding(account, request, {
        work,
        isWrong: (error) =>
          error instanceof WrongPassword || (error instanceof Rejected && error.code === "unauthorized"),
      }),
  };
  return action.handler(call, who as SignedIn);
}

/** Sets or deletes the session cookie, then waits until no request under the ended sessions is answered any more, except this one. */
async function finish(
  response: Response,
  { token, ended = [] }: AuthOutcome,
  options: AuthOptions & { callId: string },
): Promise<void> {
  if (token === null) options.cookie.clear(response);
  else if (token !== undefined) {
    // Drop the cookie that a rotation during this request has set, because the new token replaces the rotated one.
    response.removeHeader("Set-Cookie");
    options.cookie.give(response, token);
  }
  await Promise.all(ended.map((id) => options.revocation.drain(id, { exclude: options.callId })));
}

function readJson(request: Request): unknown {
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(request.headers["content-type"] ?? "")) {
    throw invalid("Content-Type", "expected application/json, encoded in UTF-8, or application/x-www-form-urlencoded");
  }
  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
  if (bytes.length === 0) return {};
  const scan = new StructureScan();
  scan.take(bytes);
  if (scan.fault) throw invalid(scan.fault.field === "" ? "body" : scan.fault.field, scan.fault.sentence);
  return parseJson(bytes, []);
}

/** The fields of the form that the action knows; empty fields are omitted. */
function fieldsOf(values: URLSearchParams, { route }: AuthAction): Record<string, string | null> {
  const { properties, required = [] } = route.body as unknown as {
    properties: Record<string, TSchema>;
    required?: string[];
  };
  const given = Object.keys(properties).map((name) => [name, values.get(name) || null] as const);
  // An empty required field becomes null if null is allowed.
  return Object.fromEntries(
    given.filter(([name, value]) => value !== null || isNullable(properties[name], required.includes(name))),
  );
}

const isNullable = (schema: TSchema | undefined, isRequired: boolean): boolean =>
  isRequired &&
  ((schema as { anyOf?: { type?: string }[] } | undefined)?.anyOf ?? []).some(({ type }) => type === "null");

type Refused = { form: URLSearchParams; error: Rejected; formToken: string };

/** State of a refused form: the values typed, and why it was refused. */
function stateOf({ form: values, error, formToken }: Refused): FormState {
  const field = typeof error.details.field === "string" ? error.details.field : undefined;
  const said = field === undefined ? error.message : error.message.replace(`${field}: `, "");
  return { values, formToken, refused: { message: asSentence(said), field } };
}

/** A page outside of the console; with the status and headers of a refusal, if given. */
export const pageReply = (
  page: FormPage,
  { assets }: Pick<AuthOptions, "assets">,
  refused?: Pick<Reply, "status" | "headers">,
): Reply => {
  const seconds = refused?.headers["Retry-After"];
  const headers: Record<string, string> = seconds === undefined ? {} : { "Retry-After": seconds };
  return documentReply(refused?.status ?? 200, plainDocument(page.title, page.main, { assets }), headers);
};

/** Answers a refusal or an internal error: as JSON in the contract's form, or as a page to a browser that sent a form. */
function refusal(error: unknown, request: Request, options: AuthOptions): Reply {
  if (isForm(request)) return refusalPage(error, request, options);
  const { content, status, headers } = refusalReply(error, request, options);
  const { "WWW-Authenticate": _, ...others } = headers;
  return new Reply(content, status, others);
}

/** The page for a refusal or an internal error. */
export function refusalPage(error: unknown, request: Request, options: AuthOptions): Reply {
  if (error instanceof SignedOut || error instanceof RightEnded) return redirectTo("/sign-in");
  if (error instanceof NotOwnForm) return pageReply(pages.notOwnForm(), options, { status: 403, headers: {} });
  const reply = refusalReply(error, request, options);
  return pageReply(pages.failed(reply.status ?? 500), options, reply);
}

function refusalReply(error: unknown, request: Request, { logger }: AuthOptions): Reply {
  const refused = asRefusal(error);
  const reply = errorReply(refused, { requestId: String(request.id) });
  // Too many simultaneous password hashes mean overload, not a fault, so they are not logged.
  const isNews = (reply.status ?? 500) >= 500 && !(refused instanceof TooManyHashes);
  if (isNews) logger.error({ err: refused }, "a request to sign in or sign up failed");
  return reply;
}

/** Converts errors of this module into refusals of the contract. */
function asRefusal(error: unknown): unknown {
  if (error instanceof SignedOut || error instanceof RightEnded)
    return new Rejected("unauthorized", "you are not signed in: sign in first");
  if (unreadableStatus(error) === undefined) return error;
  return (error as { type?: unknown }).type === "entity.too.large"
    ? new Rejected("payload_too_large", `the request body is too large: expected at most ${maxBodyBytes} bytes`)
    : invalid("", "the request body cannot be read: send it in full, uncompressed");
}
