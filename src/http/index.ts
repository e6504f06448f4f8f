import { setMaxListeners } from "node:events";
import { isRevokedKey } from "#projections/apiKeys/queries.ts";
import { hashKey } from "#src/commands/apiKeys.ts";
import { currentPlan } from "#src/commands/plans/plans.ts";
import { createFindKey } from "./apiKeys.ts";
import { createApp } from "./app.ts";
import { httpDependencies } from "./dependencies.ts";
import { introduction } from "./docs/introduction.ts";
import { createBodyParser } from "./framework/body/bodyParser.ts";
import { createIdempotency } from "./framework/idempotency/idempotency.ts";
import { createAuthenticate, createCarriesRevoked } from "./framework/keys/authenticate.ts";
import { rememberingKeys } from "./framework/keys/knownKeys.ts";
import { createRequestsInFlight } from "./framework/keys/requestsInFlight.ts";
import { createRevocation } from "./framework/keys/revocation.ts";
import { windowMs } from "./framework/rateLimits/countHit.ts";
import { createHitCounter } from "./framework/rateLimits/hitCounter.ts";
import { createLimits } from "./framework/rateLimits/rateLimits.ts";
import { createUnauthenticatedLimits } from "./framework/rateLimits/unauthenticatedLimits.ts";
import { logRefusedConnections } from "./framework/refusedConnections.ts";
import { type HttpServer, listen } from "./framework/server.ts";
import { isLoopback } from "./framework/trustedCallers.ts";
import { compileAhead } from "./framework/validation/compileAhead.ts";
import { readiness } from "./health/readiness.ts";
import type { HttpOptions } from "./httpOptions.ts";
import { nonApiRouters } from "./nonApiRouters.ts";
import { allRoutes } from "./routes.ts";

/** Starts the HTTP role. Throws StartError if it cannot listen. */
export async function startHttp(options: HttpOptions): Promise<{ server: HttpServer; close(): Promise<void> }> {
  const { deps, database, instanceId, logger, publicUrl } = options;
  const { clock } = deps;
  const inFlight = createRequestsInFlight();
  const warn = (sentence: string) => (error: unknown) => logger.warn({ err: error }, sentence);
  const onError = warn("cannot look up revoked API keys, retrying");
  const revocation = createRevocation({ database, instanceId, inFlight, clock, onError });
  const counter = createHitCounter({
    database,
    clock,
    windowMs,
    onError: warn("cannot delete expired rate-limit counts"),
  });
  const closing = new AbortController();
  // Each open stream adds a listener, so their number is not limited.
  setMaxListeners(0, closing.signal);
  const { webhookDeliveries } = options;
  const checks = readiness(options, options.parts);
  const { obstacleOf } = options;
  const parts = { database, revocation, webhookDeliveries, closing: closing.signal, obstacleOf };
  const httpDeps = httpDependencies(deps, parts);
  const bodies = createBodyParser();
  const routes = allRoutes(httpDeps);
  const strangers = createUnauthenticatedLimits({ counter, rates: options.rateLimits, clock });
  const findKey = rememberingKeys(createFindKey(httpDeps), clock);
  const authenticate = createAuthenticate({ findKey, keyHash: hashKey });
  const carriesRevoked = createCarriesRevoked({
    isRevoked: (hash) => isRevokedKey(httpDeps.reads, hash),
    keyHash: hashKey,
  });
  const limits = createLimits({ counter, rates: options.rateLimits });
  const app = createApp({
    routes,
    logger,
    inFlight,
    bodies,
    authenticate,
    carriesRevoked,
    requireReadable: httpDeps.requireReadable,
    upToDate: () => revocation.upToDate(),
    limits,
    strangers,
    idempotency: createIdempotency({
      ...{ database, clock, hours: options.idempotencyHours },
      onError: warn("cannot store the response for its Idempotency-Key"),
    }),
    checkResponses: options.checkResponses,
    hosts: [new URL(publicUrl).host, ...options.allowedHosts],
    trustProxy: options.trustProxy ?? 0,
    upgradeUrl: `${publicUrl}/billing`,
    planStatusOf: async (workspaceId) => (await currentPlan(deps, workspaceId)).status,
    info: {
      title: "Countersign",
      version: "1",
      summary: "An automated agent reads and answers real email; a person keeps the last word.",
      description: introduction(),
      serverUrl: publicUrl,
    },
    settings: options.settings,
    readiness: checks,
    metrics: options.metrics,
    metricsToken: options.metricsToken,
    beside: nonApiRouters({
      options,
      deps: httpDeps,
      routes,
      inFlight,
      counter,
      bodies,
      strangers,
      revocation,
      authenticate,
      carriesRevoked,
      limits,
      readiness: checks,
    }),
  });
  await revocation.start();
  // Express's test for trusted proxies: the first of a number of them, or an address in their networks.
  const isProxy = app.get("trust proxy fn") as (address: string, hop: number) => boolean;
  const isExempt = (address: string): boolean => isProxy(address, 0) || isLoopback(address);
  const { connections, host, port } = options;
  const server = await listen(app, {
    host,
    port,
    ...(connections && { connections: { ...connections, isExempt, onRefused: logRefusedConnections(options) } }),
  }).catch(async (error) => {
    await revocation.stop();
    throw error;
  });
  // Only in production: elsewhere starts are many and requests few.
  if (options.production) void compileAhead(routes, closing.signal);
  return {
    server,
    async close() {
      closing.abort();
      await server.close();
      await Promise.all([revocation.stop(), bodies.close()]);
    },
  };
}
