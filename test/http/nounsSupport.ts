import { randomUUID } from "node:crypto";
import { pino } from "pino";
import { projections } from "#projections/index.ts";
import { createApiKey, hashKey } from "#src/commands/apiKeys.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { createPostgresEventStore } from "#src/eventStore/postgres/store.ts";
import { apiKeyRoutes, createFindKey } from "#src/http/apiKeys.ts";
import { httpDependencies } from "#src/http/dependencies.ts";
import { domainRoutes } from "#src/http/domains.ts";
import { createAuthenticate } from "#src/http/framework/keys/authenticate.ts";
import { createRequestsInFlight } from "#src/http/framework/keys/requestsInFlight.ts";
import { createRevocation } from "#src/http/framework/keys/revocation.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import type { Route } from "#src/http/framework/route.ts";
import { identityRoutes } from "#src/http/identities.ts";
import { workspaceRoutes } from "#src/http/workspaces.ts";
import { systemClock, systemIds } from "#src/platform/clock.ts";
import { connectDatabase, inBackground } from "#src/platform/postgres/database.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { createPostgresDeliveries } from "#src/platform/webhooks/postgresDeliveries.ts";
import { createProjectionRunner } from "#src/runtime/projections/projectionRunner.ts";
import { createWaitFor } from "#src/runtime/projections/waitFor.ts";
import type { Plan } from "#streams/workspace/events.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "#test/support/inProcess.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { serveRoutes } from "./framework/support.ts";

export const sandboxDomain = "agents.test";

/** Keys, workspaces, domains and identities on a real socket, with real read models in a database of their own. */
export async function serveNouns({ more = () => [] }: { more?: (deps: Dependencies) => Route[] } = {}) {
  const testDatabase = await createTestDatabase({ readModels: true });
  const database = connectDatabase(testDatabase);
  const store = createPostgresEventStore({ connectionString: testDatabase.serviceUrl });
  const [clock, ids] = [systemClock, systemIds];
  const logger = pino({ level: "silent" });
  const waitFor = createWaitFor({ database, projections });
  const runner = createProjectionRunner({
    store,
    database: inBackground(database),
    projections,
    logger,
    instanceId: randomUUID(),
    onProjected: waitFor.reached,
  });
  await runner.start();
  const deps = {
    ...createStreamServices({ store, clock, ids }),
    store,
    clock,
    ids,
    reads: database.reads,
    projected: (position: number) => waitFor.projected(position),
    payments: null,
    keyRing: createKeyRing(newRingKey("test")),
    settings: {
      sandboxDomain,
      inboundMxHost: "mx.service.example",
      spfInclude: null,
      approvalsFrom: `Approvals@${sandboxDomain}`,
    },
  } as Dependencies;
  const inFlight = createRequestsInFlight();
  const revocation = createRevocation({ database, instanceId: randomUUID(), inFlight, clock });
  await revocation.start();
  const http = httpDependencies(deps, {
    database,
    revocation,
    webhookDeliveries: createPostgresDeliveries(database, async () => undefined),
    closing: new AbortController().signal,
  });
  const service = await serveRoutes(
    [...apiKeyRoutes(http), ...workspaceRoutes(http), ...domainRoutes(http), ...identityRoutes(http), ...more(deps)],
    {
      inFlight,
      authenticate: createAuthenticate({ findKey: createFindKey(http), keyHash: hashKey }),
      upToDate: revocation.upToDate,
      upgradeUrl: "https://example.com/upgrade",
    },
  );

  return {
    ...service,
    deps,
    database,
    store,
    /** A workspace with a key that may do everything, or only `scopes`. */
    async workspace({
      plan = "agency",
      beta = false,
      scopes = allScopes,
    }: {
      plan?: Plan;
      beta?: boolean;
      scopes?: readonly string[];
    } = {}) {
      const { workspaceId } = await createWorkspace(deps, { name: "Test", plan, betaOverride: beta }, operator());
      const { id, key, position } = await createApiKey(deps, { workspaceId, name: "test key", scopes }, operator());
      await until(() => deps.projected(position));
      const ask: typeof service.ask = (line, options = {}) => service.ask(line, { key, ...options });
      return { workspaceId, keyId: id, key, ask };
    },
    async close() {
      await service.close();
      await revocation.stop();
      await runner.stop();
      waitFor.close();
      await store.close();
      await database.close();
      await testDatabase.drop();
    },
  };
}

export type Nouns = Awaited<ReturnType<typeof serveNouns>>;
export type Tenant = Awaited<ReturnType<Nouns["workspace"]>>;
