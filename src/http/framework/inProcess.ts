import { randomUUID } from "node:crypto";
import type { Request } from "express";
import { derivedId } from "#src/commands/ids.ts";
import type { Clock } from "#src/platform/clock.ts";
import { Rejected } from "#streams/decider.ts";
import type { BodyParser } from "./body/bodyParser.ts";
import { callerFrom, carryOut, type Operation, type RouteInput } from "./judge.ts";
import { requireDocumented } from "./openapi/documented.ts";
import { type Principal, requireScope, type SessionPrincipal } from "./principal.ts";
import type { Reply } from "./reply.ts";
import type { Line, Route } from "./route.ts";
import { readQuery } from "./validation/query.ts";

/** What a page asks of a route. */
export type RouteCall = {
  params?: Record<string, string>;
  /** null and undefined are left out. */
  query?: Record<string, string | number | boolean | null | undefined>;
  body?: unknown;
  /** The version, as If-Match names it. */
  ifMatch?: number | undefined;
};

/** On whose behalf. */
export type Behalf = {
  principal: Principal;
  request: Request;
  /** Aborted when the session ends, or the key is revoked. */
  signal: AbortSignal;
  /** The same for every repetition of a form, or call, that is to have its effect once. */
  once?: string;
  /** A person's rights as they are now; undefined if they have none left. Absent for a key, whose rights never change. */
  again?(): Promise<SessionPrincipal | undefined>;
};

/** Asks a route within this process, under the rules that hold for an API key over HTTP. Throws what the route throws, and Rejected. */
export type AskRoute = (line: Line, call: RouteCall, behalf: Behalf) => Promise<Reply>;

export type InProcessOptions = {
  routes: readonly Route[];
  bodies: Pick<BodyParser, "parse">;
  /** Throws if nothing can be answered from one of these read models now. */
  requireReadable(of: readonly string[]): void;
  checkResponses: boolean;
  clock: Pick<Clock, "now">;
};

/** In a long stream nobody looks further back for what a form, or call, has done already. */
const longestRememberedMs = 30 * 24 * 3_600_000;

/** One declaration serves both doors: scope, schema and 404 are judged as in `serve`, in the same order; the key's rate limits do not count here. */
export function createInProcess({
  routes,
  bodies,
  requireReadable,
  checkResponses,
  clock,
}: InProcessOptions): AskRoute {
  const byLine = new Map(routes.map((route) => [`${route.method} ${route.path}`, route]));

  async function once(route: Route, call: RouteCall, behalf: Behalf): Promise<Reply> {
    requireReadable(route.answersFrom ?? []);
    if (route.scope !== null && route.scope !== "any") requireScope(behalf.principal, route.scope);
    const reply = await carryOut(asked(route, call, behalf));
    return checkResponses ? requireDocumented(route, reply) : reply;
  }

  function asked(route: Route, call: RouteCall, { principal, request, signal, once }: Behalf): RouteInput {
    const callId = randomUUID();
    const operation = operationOf(route, { principal, call, once, clock });
    return {
      ...{ route, callId, signal, params: call.params ?? {}, requestId: String(request.id) },
      caller: callerFrom(principal, { request, callId, operation }),
      query: () => readQuery(`?${queryOf(call.query)}`, route.query),
      idempotencyKey: () => undefined,
      // As if it had come over HTTP: files are decoded by the same parser.
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
      // Somebody's membership changed on the way: if it was not this person's, it is asked once more.
      const principal = await behalf.again?.();
      if (!principal) throw error;
      return once(route, call, { ...behalf, principal });
    }
  };
}

/**
 * Nobody can tell whether such a form comes for the first time: each is taken for a repetition, which finds its own effect if nothing in it
 * differs. Not where a secret is made, which a repetition could not show again.
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

/** A route's JSON answer as it would go out: times are text there. */
export function jsonOf({ content }: Reply, line: Line): unknown {
  if (!("json" in content)) throw new Error(`${line} does not answer JSON: ask for its reply`);
  return JSON.parse(JSON.stringify(content.json));
}

function queryOf(query: RouteCall["query"] = {}): URLSearchParams {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}
