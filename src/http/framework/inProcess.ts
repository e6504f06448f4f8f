import { randomUUID } from "node:crypto";
import type { Request } from "express";
import { derivedId } from "#src/commands/ids.ts";
import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import type { BodyParser } from "./body/bodyParser.ts";
import { requireDocumented } from "./openapi/documented.ts";
import { type Principal, requireScope, type SessionPrincipal } from "./principal.ts";
import type { Reply } from "./reply.ts";
import type { Route, RouteLine } from "./route.ts";
import { callerFrom, type Operation, type RouteInput, runWithInput } from "./runRoute.ts";
import { readQuery } from "./validation/query.ts";

/** Parameters of a call that a page or an MCP tool makes to a route. */
export type RouteCall = {
  params?: Record<string, string>;
  /** null and undefined values are omitted. */
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  /** The version, as in If-Match. */
  ifMatch?: number | undefined;
};

/** The principal and request on whose behalf a route is called. */
export type OnBehalfOf = {
  principal: Principal;
  request: Request;
  /** Aborted when the session ends, or the key is revoked. */
  signal: AbortSignal;
  /** Id of a form or call that must have its effect only once: repetitions pass the same id. */
  once?: string;
  /** Reads the person's rights again; undefined if they have none left. Absent for a key, whose rights never change. */
  again?(): Promise<SessionPrincipal | undefined>;
};

/** Calls a route within this process, under the rules that apply to an API key over HTTP. Throws what the route throws, and Rejected. */
export type AskRoute = (line: RouteLine, call: RouteCall, behalf: OnBehalfOf) => Promise<Reply>;

export type InProcessOptions = {
  routes: readonly Route[];
  bodies: Pick<BodyParser, "parse">;
  /** Throws NotReadable if one of these read models cannot be read now. */
  requireReadable(of: readonly string[]): void;
  checkResponses: boolean;
  clock: Pick<Clock, "now">;
};

/** Milliseconds. A repeated form or call searches a stream at most this far back for its own earlier effect. */
const longestRememberedMs = 30 * 24 * 3_600_000;

/**
 * Calls the routes that HTTP serves: scope, schema and 404 are checked in the same order as in `serve`. The rate limits of keys do not
 * apply.
 */
export function createInProcess({
  routes,
  bodies,
  requireReadable,
  checkResponses,
  clock,
}: InProcessOptions): AskRoute {
  const byLine = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));

  async function once(route: Route, call: RouteCall, behalf: OnBehalfOf): Promise<Reply> {
    requireReadable(route.answersFrom ?? []);
    if (route.scope !== null && route.scope !== "any") requireScope(behalf.principal, route.scope);
    const reply = await runWithInput(asked(route, call, behalf));
    return checkResponses ? requireDocumented(route, reply) : reply;
  }

  function asked(route: Route, call: RouteCall, { principal, request, signal, once }: OnBehalfOf): RouteInput {
    const callId = randomUUID();
    const operation = operationOf(route, { principal, call, once, clock });
    return {
      ...{ route, callId, signal, params: call.params ?? {}, requestId: String(request.id) },
      caller: callerFrom(principal, { request, callId, operation }),
      query: () => readQuery(`?${queryOf(call.query)}`, route.query),
      idempotencyKey: () => undefined,
      // Serialised as over HTTP, so that the same parser decodes files.
      body: async () =>
        call.body === undefined
          ? {}
          : bodies.parse([Uint8Array.from(Buffer.from(JSON.stringify(call.body)))], route.files),
      ifMatch: () => call.ifMatch,
      lastEventId: () => undefined,
    };
  }

  return async (line, call, behalf) => {
    const route = byLine.get(line);
    if (!route) throw new Error(`${line} is no route`);
    try {
      return await once(route, call, behalf);
    } catch (error) {
      if (!(error instanceof Rejected) || error.code !== "unauthorized" || behalf.signal.aborted) throw error;
      // A membership changed during the call. If this person still has rights, the route is called once more with them.
      const principal = await behalf.again?.();
      if (!principal) throw error;
      return once(route, call, { ...behalf, principal });
    }
  };
}

/**
 * The operation of a form or call with `once`. Nothing records whether it is the first one, so each counts as a repetition, which finds its
 * earlier effect if the content is equal. Undefined if the answer has a secret, because a repetition could not show the secret again.
 */
function operationOf(
  route: Route,
  {
    principal,
    call,
    once,
    clock,
  }: { principal: Principal; call: RouteCall; once: string | undefined; clock: Pick<Clock, "now"> },
): Operation | undefined {
  if (once === undefined || route.method === "GET" || route.options.secretAnswer) return undefined;
  const what = JSON.stringify([
    principal.kind === "session" ? principal.user.id : principal.id,
    once,
    route.method,
    route.path,
    call.params ?? {},
    call.body ?? null,
  ]);
  const begunAt = new Date(clock.now().getTime() - longestRememberedMs);
  return { id: derivedId("form", what), repeated: true, begunAt, secretOnce: async (draw) => draw() };
}

/** The JSON answer of a route as HTTP would send it: times are strings. */
export function jsonOf({ content }: Reply, line: RouteLine): unknown {
  if (!("json" in content)) throw new Error(`${line} does not answer JSON: ask for its reply`);
  return JSON.parse(JSON.stringify(content.json));
}

function queryOf(query: RouteCall["query"] = {}): URLSearchParams {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}
