import type { Request } from "express";
import type { Reads } from "#projections/reads.ts";
import { workspaceById } from "#projections/workspaces/queries.ts";
import { isZone } from "#src/html/times.ts";
import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import { errorReply } from "../../framework/errors.ts";
import { type AskRoute, type Behalf, jsonOf, type RouteCall } from "../../framework/inProcess.ts";
import { idIn } from "../../framework/judge.ts";
import type { SessionPrincipal } from "../../framework/principal.ts";
import type { Answers } from "../../routes.ts";
import { cookieOf } from "../../web/cookie.ts";
import type { FormTokens } from "../../web/formToken.ts";
import type { PrincipalOf } from "../../web/sessionPrincipal.ts";
import type { ConsoleRoute } from "./page.ts";
import { PasswordNeeded, type Refused, type Visit } from "./visit.ts";

/** How long a password that was typed counts for what is sensitive. */
const passwordMs = 10 * 60_000;
/** Tells in which zone the reader is; the script sets it. */
export const zoneCookie = "countersign_zone";

export type VisitOptions = {
  deps: { reads: Reads };
  askRoute: AskRoute;
  principalOf: PrincipalOf;
  tokens: FormTokens;
  clock: Pick<Clock, "now">;
};

/** What a page is given of a request. */
export function visitOf(
  request: Request,
  {
    route,
    options,
    principal,
    signal,
  }: { route: ConsoleRoute; options: VisitOptions; principal: SessionPrincipal; signal: AbortSignal },
): Visit {
  const { askRoute, principalOf, tokens, clock, deps } = options;
  const form = new URLSearchParams(typeof request.body === "string" ? request.body : "");
  const zone = decoded(cookieOf(request, zoneCookie));
  const once = route.options.once && form.get("once");
  const behalf: Behalf = {
    ...{ principal, request, signal },
    ...(once ? { once } : {}),
    again: () => principalOf({ ...principal, userId: principal.user.id }),
  };
  let workspace: ReturnType<Visit["workspace"]> | undefined;
  const askRaw: Visit["askRaw"] = (line, call = {}) => askRoute(line, call, behalf);
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

/** As over HTTP: what is no id names nothing, and pages need not ask. */
const paramsOf = ({ params }: Request): Record<string, string> =>
  Object.fromEntries(
    Object.entries(params as Record<string, string>).map(([name, value]) => [
      name,
      /(^|_)id$/.test(name) ? idIn(value) : value,
    ]),
  );

/** A refusal, or a fault, as a page says it. */
export function refusedBy(error: unknown, request: Request): Refused {
  const reply = errorReply(error, { requestId: String(request.id) });
  const { error: code, message, field, ...details } = (reply.content as { json: Record<string, unknown> }).json;
  // On a page the person is known: what their role does not allow is forbidden, not unauthorized.
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
