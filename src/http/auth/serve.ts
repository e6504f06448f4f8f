import express, { type Request, type RequestHandler, type Response, type Router } from "express";
import type { Logger } from "pino";
import type { TSchema } from "typebox";
import { TooManyHashes } from "#src/accounts/passwords.ts";
import type { Session } from "#src/accounts/sessions.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { WrongPassword } from "#src/commands/users/passwords.ts";
import { type SignedIn, signedInBy } from "#src/commands/users/signIn.ts";
import { asSentence } from "#src/html/asSentence.ts";
import { Rejected } from "#streams/decider.ts";
import { parseJson } from "../framework/body/parseJson.ts";
import { StructureScan } from "../framework/body/structure.ts";
import { errorHandler } from "../framework/errorHandler.ts";
import { errorReply, invalid } from "../framework/errors.ts";
import type { Revocation } from "../framework/keys/revocation.ts";
import { Reply } from "../framework/reply.ts";
import { isSameOrigin, ownPath } from "../framework/sameOrigin.ts";
import { send } from "../framework/send.ts";
import { answerDocument, leadTo } from "../web/answers.ts";
import type { Assets } from "../web/assets.ts";
import type { SessionCookie } from "../web/cookie.ts";
import type { FormTokens } from "../web/formToken.ts";
import { plainDocument } from "../web/layout.ts";
import { callerOf } from "../web/linkPages.ts";
import { sessionOf } from "../web/sessionOf.ts";
import type { AuthAction, AuthCall, Done, FormPage, FormState } from "./action.ts";
import type { AuthLimits } from "./limits.ts";
import * as pages from "./pages.ts";

export type AuthOptions = {
  deps: Dependencies;
  cookie: SessionCookie;
  tokens: FormTokens;
  limits: AuthLimits;
  assets: Assets;
  revocation: Pick<Revocation, "drain">;
  publicUrl: string;
  logger: Logger;
  /** Under test: an answer that is not as documented becomes a 500. */
  checkResponses: boolean;
};

/** A password of 10 kB is to be refused by its length, not by its form's. */
const maxBodyBytes = 64 * 1024;

const isForm = ({ headers }: Request): boolean =>
  /^application\/x-www-form-urlencoded\b/i.test(headers["content-type"] ?? "");

/** The actions of /auth. */
export function authRouter(actions: readonly AuthAction[], options: AuthOptions): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  const body = express.raw({ type: () => true, limit: maxBodyBytes, inflate: false });
  for (const action of actions) {
    const { method, path } = action.route;
    if (method === "GET") router.get(path, asJson(action, options));
    else router.post(path, body, asForm(action, options), asJson(action, options));
  }
  router.use("/auth", failed(options));
  return router;
}

function asJson(action: AuthAction, options: AuthOptions): RequestHandler {
  return async (request, response) => {
    requireOwnOrigin(request, options);
    await options.limits.count(action.limit, request, response);
    const session = await sessionOf({ ...options, sessions: options.deps.accounts.sessions }, request, response);
    const who = action.needsSession ? await requireSignedIn(session, options) : undefined;
    const body = request.method === "GET" ? {} : readJson(request);
    action.route.checkBody(body);
    const done = await carryOut(action, { request, body, session, who, next: "/" }, options);
    if (options.checkResponses) requireDocumented(action, done.json);
    await finish(response, done, options);
    await send(response, new Reply({ json: done.json }, action.route.options.status ?? 200, {}));
  };
}

/** The same for a browser without script: it is led to the next page, or shown its form again. */
function asForm(action: AuthAction, options: AuthOptions): RequestHandler {
  return async (request, response, next) => {
    if (!isForm(request)) return next();
    const values = new URLSearchParams(String(request.body ?? ""));
    const session = await sessionOf({ ...options, sessions: options.deps.accounts.sessions }, request, response);
    const formToken = session === undefined ? "" : options.tokens.of(session.id);
    const isOwn = isSameOrigin(request, options.publicUrl);
    const isSignedIns = action.needsSession || (action.orSession && !values.get("password"));
    if (!isOwn || (isSignedIns && session && !options.tokens.isRight(session.id, values.get("form_token"))))
      return showPage(response, { status: 403, page: pages.notOwnForm(), options });
    const who = action.needsSession && session ? await signedInBy(options.deps, session) : undefined;
    if (action.needsSession && !who) return leadTo(response, "/sign-in");
    try {
      await options.limits.count(action.limit, request, response);
      const body = fieldsOf(values, action);
      action.route.checkBody(body);
      const next = ownPath(values.get("next")) ?? "/review";
      const done = await carryOut(action, { request, body, session, who, next }, options);
      await finish(response, done, options);
      leadTo(response, done.next);
    } catch (error) {
      if (!(error instanceof Rejected) || !action.form) throw error;
      await showRefused(
        { request, response, error },
        await action.form(stateOf({ values, error, formToken })),
        options,
      );
    }
  };
}

type Carried = {
  request: Request;
  body: unknown;
  session: Session | undefined;
  who: SignedIn | undefined;
  next: string;
};

function carryOut(
  action: AuthAction,
  { request, body, session, who, next }: Carried,
  options: AuthOptions,
): Promise<Done> {
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

/** The cookie of an answer; and nothing is answered any more under what has ended. */
async function finish(response: Response, { token, ended = [] }: Done, options: AuthOptions): Promise<void> {
  if (token === null) options.cookie.clear(response);
  else if (token !== undefined) {
    // One that replaced it a moment ago, in this very answer, is over.
    response.removeHeader("Set-Cookie");
    options.cookie.give(response, token);
  }
  await Promise.all(ended.map((id) => options.revocation.drain(id, {})));
}

async function requireSignedIn(session: Session | undefined, { deps }: AuthOptions): Promise<SignedIn> {
  const who = session && (await signedInBy(deps, session));
  if (!who) throw new Rejected("unauthorized", "nobody is signed in here: sign in first");
  return who;
}

/** A browser says from where it asks; a page of another site asks for nothing here. A client that is no browser says nothing. */
function requireOwnOrigin(request: Request, { publicUrl }: AuthOptions): void {
  const { origin, "sec-fetch-site": site } = request.headers;
  if ((origin === undefined && site === undefined) || isSameOrigin(request, publicUrl)) return;
  // Typed into the address line.
  if (request.method === "GET" && site === "none") return;
  throw invalid("Origin", "this is not asked for by pages of other sites");
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

/** What the form says of the action's own fields; a field that was left empty is not given. */
function fieldsOf(values: URLSearchParams, { route }: AuthAction): Record<string, string | null> {
  const { properties, required = [] } = route.body as unknown as {
    properties: Record<string, TSchema>;
    required?: string[];
  };
  const given = Object.keys(properties).map((name) => [name, values.get(name) || null] as const);
  // One that has to be given may say that there is none.
  return Object.fromEntries(
    given.filter(([name, value]) => value !== null || isNullable(properties[name], required.includes(name))),
  );
}

const isNullable = (schema: TSchema | undefined, isRequired: boolean): boolean =>
  isRequired &&
  ((schema as { anyOf?: { type?: string }[] } | undefined)?.anyOf ?? []).some(({ type }) => type === "null");

const stateOf = ({
  values,
  error,
  formToken,
}: {
  values: URLSearchParams;
  error: Rejected;
  formToken: string;
}): FormState => {
  const { field } = error.details;
  const said = typeof field === "string" ? error.message.replace(`${field}: `, "") : error.message;
  return {
    values,
    formToken,
    refused: { message: asSentence(said), field: typeof field === "string" ? field : undefined },
  };
};

async function showRefused(
  { request, response, error }: { request: Request; response: Response; error: Rejected },
  page: FormPage,
  options: AuthOptions,
): Promise<void> {
  const { status = 422, headers } = errorReply(error, { requestId: String(request.id) });
  if (headers["Retry-After"] !== undefined) response.set("Retry-After", headers["Retry-After"]);
  showPage(response, { status, page, options });
}

export function showPage(
  response: Response,
  { status = 200, page, options }: { status?: number; page: FormPage; options: Pick<AuthOptions, "assets"> },
): void {
  answerDocument(response, status, plainDocument(page.title, page.main, options));
}

function requireDocumented({ route }: AuthAction, value: unknown): void {
  const fault = route.answerFault(JSON.parse(JSON.stringify(value)));
  if (fault !== undefined) throw new Error(`${route.method} ${route.path} sent an undocumented response: ${fault}`);
}

/** As JSON in the contract's envelope, or as a page to who sent a form. */
const failed = (options: AuthOptions) =>
  errorHandler(async ({ error, request, response }) => {
    if (response.headersSent) return void response.destroy();
    const { status, headers, content } = replyTo(error, request, options);
    const { "WWW-Authenticate": _, ...others } = headers;
    if (!isForm(request)) return send(response, new Reply(content, status, others));
    response.set(others);
    showPage(response, { status: status ?? 500, page: pages.failed(status ?? 500), options });
  });

/** The same for a page that was only looked at. */
export const failedPage = (options: AuthOptions) =>
  errorHandler(async ({ error, request, response }) => {
    if (response.headersSent) return void response.destroy();
    const { status = 500, headers } = replyTo(error, request, options);
    if (headers["Retry-After"] !== undefined) response.set("Retry-After", headers["Retry-After"]);
    showPage(response, { status, page: pages.failed(status), options });
  });

function replyTo(error: unknown, request: Request, { logger }: AuthOptions): Reply {
  const refusal = refusalOf(error);
  const reply = errorReply(refusal, { requestId: String(request.id) });
  // Nobody is to blame if too many ask at once.
  const isNews = (reply.status ?? 500) >= 500 && !(refusal instanceof TooManyHashes);
  if (isNews) logger.error({ err: refusal }, "a request to sign in or sign up failed");
  return reply;
}

/** What the body's own reader refused, in the contract's words. */
function refusalOf(error: unknown): unknown {
  const { status, type } = error as { status?: unknown; type?: unknown };
  if (typeof status !== "number" || status < 400 || status >= 500) return error;
  return type === "entity.too.large"
    ? new Rejected("payload_too_large", `the request body is too large: expected at most ${maxBodyBytes} bytes`)
    : invalid("", "the request body cannot be read: send it in full, uncompressed");
}
