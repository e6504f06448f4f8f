import { AsyncLocalStorage } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler } from "@modelcontextprotocol/server";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { Rejected } from "#streams/decider.ts";
import { errorReply, NotReadable } from "../framework/errors.ts";
import { isLoopbackHost } from "../framework/insiders.ts";
import {
  type Authenticate,
  type CarriesRevoked,
  countingUnknown,
  unauthorized,
} from "../framework/keys/authenticate.ts";
import type { Flight, InFlight } from "../framework/keys/inFlight.ts";
import { holdersOf } from "../framework/places.ts";
import type { KeyPrincipal } from "../framework/principal.ts";
import { refusalOf } from "../framework/rateLimits/rateLimits.ts";
import type { Strangers } from "../framework/rateLimits/strangers.ts";
import type { LimitClass } from "../framework/route.ts";
import { send } from "../framework/send.ts";
import { createNews, type Doors } from "./news.ts";
import { type Door, type McpDependencies, mcpServer } from "./server.ts";

export type McpOptions = McpDependencies & {
  authenticate: Authenticate;
  inFlight: InFlight;
  /** Resolves when this instance knows every revocation that another may have answered. */
  upToDate(): void | Promise<void>;
  limits: (limit: LimitClass) => RequestHandler | undefined;
  strangers: Pick<Strangers, "count">;
  carriesRevoked: CarriesRevoked;
  publicUrl: string;
};

/** Bytes. No tool takes files. */
const maxRequestBodySize = 1024 * 1024;
/** What a call gets to say that its key was revoked, before its connection is closed. */
const revokedGraceMs = 500;
/** Streams that wait for news of resources, in this instance. */
const maxSubscriptions = 500;

/**
 * `/mcp`: streamable HTTP for clients of the Model Context Protocol. Each request stands for itself, under its own key: there are no sessions that
 * anybody could take over, and any instance answers any request.
 */
export function mcpRouter(options: McpOptions): Router {
  const doors: Doors = new AsyncLocalStorage();
  const bus = createNews(options.deps, doors, options.onError);
  const handler = createMcpHandler(
    () => {
      const door = doors.getStore();
      if (!door) throw new Error("an MCP request without its key");
      return mcpServer(options, door);
    },
    { maxRequestBodySize, maxSubscriptions, bus },
  );
  const single = { ...handler, fetch: singly(handler.fetch, doors, options) };
  const answer = toNodeHandler(single, { maxRequestBodySize, onerror: options.onError });
  const authenticate = countingUnknown(options.authenticate, {
    ...options,
    count: (request) => options.strangers.count("bad_key", request),
  });
  const router = Router({ caseSensitive: true, strict: true });
  router.all("/mcp", async (request, response) => {
    try {
      requireOwnOrigin(request, options);
      // Before the key, as in /v1: one that the read models do not know yet is no unknown key.
      options.deps.requireReadable(["apiKeys"]);
      const key = await authenticate(request);
      await serve(request, response, key);
    } catch (error) {
      if (!(error instanceof Rejected || error instanceof NotReadable)) options.onError(error);
      if (response.headersSent) return void response.destroy();
      await send(response, errorReply(error, { requestId: String(request.id) }));
    }
  });
  return router;

  async function serve(request: Request, response: Response, key: KeyPrincipal): Promise<void> {
    const flight = options.inFlight.enter(key.id, randomUUID());
    // A stream ends with its key; a call under way has a moment to say why.
    flight.signal.addEventListener("abort", () => setTimeout(() => response.destroy(), revokedGraceMs).unref());
    try {
      if (flight.revoked) throw unauthorized();
      response.locals.apiKey = key;
      await counted(options, "read", { request, response });
      await doors.run(doorOf({ request, response, key, flight }), () => answer(request, response));
    } finally {
      flight.leave();
    }
  }

  function doorOf(of: { request: Request; response: Response; key: KeyPrincipal; flight: Flight }): Door {
    const { request, key, flight } = of;
    return {
      ...{ key, request, signal: flight.signal },
      // Each request carries one message, and was counted as a read itself.
      count: (limit) => (limit === "read" ? Promise.resolve() : counted(options, limit, of)),
      end: () => of.response.destroy(),
      async requireLive() {
        await options.upToDate();
        if (flight.revoked) throw unauthorized();
      },
    };
  }
}

type Fetch = ReturnType<typeof createMcpHandler>["fetch"];

/**
 * One message a request: a batch would be many calls for one count. A subscription takes a place of its key and workspace, and ends when that is
 * another's.
 */
function singly(fetch: Fetch, doors: Doors, { deps }: McpOptions): Fetch {
  return async (request, context) => {
    const message: unknown = request.method === "POST" ? await request.clone().json().catch(noJson) : undefined;
    if (Array.isArray(message)) return refused(-32600, "batches are not supported: send one message a request");
    const door = doors.getStore();
    if (door && (message as { method?: unknown } | undefined)?.method === "subscriptions/listen") {
      try {
        const { key, signal, end, request: incoming } = door;
        const place = deps.waits.take(holdersOf({ id: key.id, workspaceId: key.workspaceId }));
        place.replaced.addEventListener("abort", end);
        incoming.res?.once("close", place.leave);
        signal.addEventListener("abort", place.leave);
      } catch (error) {
        if (!(error instanceof Rejected)) throw error;
        return refused(-32000, error.message, 429);
      }
    }
    return fetch(request, message === undefined ? context : { ...context, parsedBody: message });
  };
}

const noJson = () => undefined;

const refused = (code: number, message: string, status = 400) =>
  Response.json({ jsonrpc: "2.0", id: null, error: { code, message } }, { status });

/** A browser's page of elsewhere has no business here, whatever key it brings. */
function requireOwnOrigin({ headers }: Request, { publicUrl }: McpOptions): void {
  const { origin } = headers;
  if (origin === undefined || origin === new URL(publicUrl).origin) return;
  if (URL.canParse(origin) && isLoopbackHost(new URL(origin).host)) return;
  throw new Rejected("insufficient_scope", "pages of other sites cannot call /mcp: call it from a program");
}

/** Counts a request of the key. Throws Rejected rate_limited. */
async function counted(
  { limits }: McpOptions,
  limit: LimitClass,
  { request, response }: { request: Request; response: Response },
): Promise<void> {
  const limiter = limits(limit);
  const refusal = limiter && (await refusalOf(limiter, request, response));
  if (refusal) throw refusal;
}
