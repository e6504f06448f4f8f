import type { Request, Response } from "express";
import { isUuid } from "#src/commands/ids.ts";
import { Rejected } from "#streams/decider.ts";
import type { BodyParser } from "./body/bodyParser.ts";
import { type BodyRead, requireSoundStructure } from "./body/readBody.ts";
import { invalid } from "./errors.ts";
import { etag, ifMatchOf } from "./etag.ts";
import { unauthorized } from "./keys/authenticate.ts";
import { actorOf, type KeyPrincipal, type Principal } from "./principal.ts";
import { Reply } from "./reply.ts";
import { type Caller, isRaw, type RequestContext, type Route, type SecretOnce } from "./route.ts";
import { readQuery } from "./validation/query.ts";

/** A POST under an Idempotency-Key. All its repetitions share the operation. */
export type Operation = {
  id: string;
  /** True if an earlier run ended without an answer: it may have done all, some or none of its work. */
  repeated: boolean;
  /** Start of the first run. */
  begunAt: Date;
  secretOnce: SecretOnce;
};

/** A request that passed authentication, scope and rate limit. */
export type RouteRequest = {
  request: Request;
  response: Response;
  route: Route;
  key: KeyPrincipal | undefined;
  callId: string;
  signal: AbortSignal;
  operation?: Operation | undefined;
  /** Reads the body as sent; repeated calls return the same one. */
  body: () => Promise<BodyRead>;
};

type Bodies = Pick<BodyParser, "parse">;

/** Input of a route, and its caller. Each function reads and checks its part of the request when it is called. */
export type RouteInput = {
  route: Route;
  params: Record<string, string>;
  /** Absent on a route without authentication. */
  caller: Caller | undefined;
  requestId: string;
  callId: string;
  signal: AbortSignal;
  query(): Record<string, unknown>;
  idempotencyKey(): string | undefined;
  body(): Promise<unknown>;
  ifMatch(): number | undefined;
  lastEventId(): string | undefined;
};

/** Checks the path, query and body, then runs the handler. */
export async function runRoute(admitted: RouteRequest, bodies: Bodies): Promise<Reply> {
  const { request, route, callId, signal } = admitted;
  const asked: RouteInput = {
    route,
    params: request.params as Record<string, string>,
    caller: callerOf(admitted),
    requestId: String(request.id),
    callId,
    signal,
    query: () => readQuery(request.originalUrl, route.query),
    idempotencyKey: () => idempotencyKeyOf(request),
    body: async () => (request.method === "GET" || request.method === "HEAD" ? {} : await parseBody(admitted, bodies)),
    ifMatch: () => ifMatchOf(request),
    lastEventId: () => lastEventIdOf(request),
  };
  return runWithInput(asked);
}

/**
 * Checks the input of a route and runs its handler, for calls over HTTP or within this process. Throws what the handler throws, and
 * Rejected.
 */
export async function runWithInput(asked: RouteInput): Promise<Reply> {
  const { route, requestId, callId, signal } = asked;
  const reached = { params: paramsOf(asked.params, route), requestId, callId, signal, ...asked.caller };
  const loaded = await load(route, reached);
  const query = asked.query();
  route.checkQuery(query);
  const idempotencyKey = asked.idempotencyKey();
  const body = await asked.body();
  route.checkBody(body);
  const ifMatch = route.options.ifMatch ? asked.ifMatch() : undefined;
  const lastEventId = route.options.lastEventId ? asked.lastEventId() : undefined;
  // The key may have been revoked while the body arrived: do not start the handler then.
  if (signal.aborted) throw unauthorized();
  const value = await route.handler({ ...reached, loaded, query, body, ifMatch, idempotencyKey, lastEventId });
  // The resource existed when it was loaded, but was deleted before it could be read.
  if (value === undefined && route.paramNames.length > 0 && !isRaw(route.options.answers)) throw notFound();
  return replyOf(route, value);
}

/** A JSON body as plain data; an empty one is {}. Throws invalid_request. */
async function parseBody({ body, request, route }: RouteRequest, bodies: Bodies): Promise<unknown> {
  const read = await body();
  if (read.size === 0) return {};
  requireJson(request);
  requireSoundStructure(read);
  return bodies.parse(read.blocks, route.files);
}

function requireJson({ headers }: Request): void {
  if (!/^application\/json\s*(;\s*charset\s*=\s*"?utf-8"?\s*)?$/i.test(headers["content-type"] ?? "")) {
    throw invalid("Content-Type", "expected application/json, encoded in UTF-8");
  }
  if (!/^(identity)?$/i.test(headers["content-encoding"] ?? "")) {
    throw invalid("Content-Encoding", "expected none: send the body uncompressed");
  }
}

/** An id that no resource has. Used in place of a malformed id, so that both give the same answer in the same time. */
const idOfNothing = "00000000-0000-0000-0000-000000000000";

/** A path id in canonical form; `idOfNothing` if it is not a UUID. */
export const idIn = (given: string): string => (isUuid(given) ? given.toLowerCase() : idOfNothing);

function paramsOf(params: Record<string, string>, route: Route): Record<string, string> {
  if (!route.checkParams) {
    return Object.fromEntries(route.paramNames.map((name) => [name, idIn(params[name]!)]));
  }
  const given = Object.fromEntries(route.paramNames.map((name) => [name, params[name]!]));
  try {
    route.checkParams(given);
  } catch {
    throw notFound();
  }
  return given;
}

const notFound = (): Rejected => new Rejected("not_found", "no such resource");

async function load(route: Route, reached: RequestContext<Record<string, string>>): Promise<unknown> {
  if (!route.options.load) return undefined;
  const loaded = await route.options.load(reached);
  if (!loaded) throw notFound();
  return loaded;
}

const callerOf = ({ request, key, callId, operation }: RouteRequest): Caller | undefined =>
  key && callerFrom(key, { request, callId, operation });

/** The caller as handlers and commands need it. */
export function callerFrom(
  principal: Principal,
  { request, callId, operation }: { request: Request; callId: string; operation?: Operation | undefined },
): Caller {
  const { workspaceId, guard } = principal;
  const actor = actorOf(principal, request);
  const cause = {
    actor,
    workspaceId,
    correlationId: callId,
    causationId: callId,
    ...(guard ? { keyGuard: guard } : {}),
    ...(operation && { operation: operation.id, repeated: operation.repeated }),
    ...(operation && { begunAt: operation.begunAt.toISOString() }),
  };
  const secretOnce = operation?.secretOnce ?? (async (draw) => draw());
  return { workspaceId, principal, actor, cause, secretOnce };
}

/** The Idempotency-Key of a POST; undefined if there is none. */
export function idempotencyKeyOf(request: Request): string | undefined {
  const given = request.method === "POST" ? request.headersDistinct["idempotency-key"] : undefined;
  if (given === undefined) return undefined;
  if (given.length !== 1 || !/^[\x20-\x7e]{1,255}$/.test(given[0]!)) {
    throw invalid("Idempotency-Key", "expected one key of 1 to 255 printable ASCII characters");
  }
  return given[0];
}

/** The Last-Event-ID of a request; undefined if it has none or an empty one, "" if it has several. */
function lastEventIdOf({ headersDistinct }: Request): string | undefined {
  const given = headersDistinct["last-event-id"];
  if (given?.length === 1) return given[0] || undefined;
  return given && "";
}

function replyOf(route: Route, value: unknown): Reply {
  const { status = 200, etag: versionOf } = route.options;
  const given = value instanceof Reply ? value : new Reply({ json: value }, status, {});
  const headers = { ...given.headers };
  if (versionOf && "json" in given.content) headers.ETag ??= etag(versionOf(given.content.json));
  return new Reply(given.content, given.status ?? status, headers);
}
