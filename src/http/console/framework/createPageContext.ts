import type { Request } from "express";
import type { Reads } from "#projections/reads.ts";
import { workspaceById } from "#projections/workspaces/queries.ts";
import { isZone } from "#src/html/times.ts";
import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import { errorReply } from "../../framework/errors.ts";
import { type AskRoute, jsonOf, type OnBehalfOf, type RouteCall } from "../../framework/inProcess.ts";
import type { SessionPrincipal } from "../../framework/principal.ts";
import { idIn } from "../../framework/runRoute.ts";
import type { Answers } from "../../routes.ts";
import { cookieOf } from "../../web/cookie.ts";
import type { FormTokens } from "../../web/formToken.ts";
import type { PrincipalOf } from "../../web/sessionPrincipal.ts";
import type { ConsoleRoute } from "./page.ts";
import { type PageContext, type PageRefusal, PasswordNeeded } from "./pageContext.ts";

/** Milliseconds for which an entered password permits sensitive actions. */
const passwordMs = 10 * 60_000;
/** Cookie with the reader's time zone; set by the page's script. */
export const zoneCookie = "countersign_zone";

export type PageContextOptions = {
  deps: { reads: Reads };
  askRoute: AskRoute;
  principalOf: PrincipalOf;
  tokens: FormTokens;
  clock: Pick<Clock, "now">;
};

/** Makes the context of a page request. */
export function createPageContext(
  request: Request,
  {
    route,
    options,
    principal,
    signal,
  }: { route: ConsoleRoute; options: PageContextOptions; principal: SessionPrincipal; signal: AbortSignal },
): PageContext {
  const { askRoute, principalOf, tokens, clock, deps } = options;
  const form = new URLSearchParams(typeof request.body === "string" ? request.body : "");
  const zone = decoded(cookieOf(request, zoneCookie));
  const once = route.options.once && form.get("once");
  const behalf: OnBehalfOf = {
    ...{ principal, request, signal },
    ...(once ? { once } : {}),
    again: () => principalOf({ ...principal, userId: principal.user.id }),
  };
  let workspace: ReturnType<PageContext["workspace"]> | undefined;
  const askRaw: PageContext["askRaw"] = (line, call = {}) => askRoute(line, call, behalf);
  return {
    ...{ principal, form, askRaw, request, signal },
    params: paramsOf(request),
    query: new URLSearchParams(request.originalUrl.split("?")[1] ?? ""),
    path: request.originalUrl,
    zone: zone !== undefined && isZone(zone) ? zone : "UTC",
    formToken: tokens.of(principal.id),
    workspace: () => (workspace ??= workspaceById(deps.reads, principal.workspaceId)),
    may: (scope) => principal.scopes.includes(scope),
    ask: async <L extends keyof Answers>(line: L, call?: RouteCall) =>
      jsonOf(await askRaw(line, call), line) as Answers[L],
    async attempt(work) {
      try {
        await work();
        return undefined;
      } catch (error) {
        if (!(error instanceof Rejected) || error.code === "unauthorized") throw error;
        return refusedBy(error, request);
      }
    },
    requirePassword() {
      if (clock.now().getTime() - principal.passwordAt.getTime() > passwordMs) throw new PasswordNeeded();
    },
  };
}

/** Path parameters. A malformed id becomes an id that no resource has, as over HTTP, so that pages get 404 without checking ids. */
const paramsOf = ({ params }: Request): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params as Record<string, string>).map(([name, value]) => [
      name,
      /(^|_)id$/.test(name) ? idIn(value) : value,
    ]),
  );

/** Converts a refusal or an internal error for display on a page. */
export function refusedBy(error: unknown, request: Request): PageRefusal {
  const reply = errorReply(error, { requestId: String(request.id) });
  const { error: code, message, field, ...details } = (reply.content as { json: Record<string, unknown> }).json;
  // On a page the person is signed in: a missing scope is 403, not 401.
  const status = code === "insufficient_scope" ? 403 : (reply.status ?? 500);
  const retryAfter = reply.headers["Retry-After"];
  return {
    status,
    code: String(code),
    message: String(message),
    field: field as string | undefined,
    details,
    retryAfter,
  };
}

const decoded = (text: string | undefined): string | undefined => {
  try {
    return text === undefined ? undefined : decodeURIComponent(text);
  } catch {
    return undefined;
  }
};
