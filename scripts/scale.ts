import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { createApiKey } from "#src/commands/apiKeys.ts";
import type { Cause } from "#src/commands/handle.ts";
import { createIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import type { Composition } from "#src/compose.ts";
import { loadConfig } from "#src/config.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { allProcesses } from "#src/processes/index.ts";
import { unansweredReader } from "#src/work/heldAsks.ts";
import { besideService } from "./support/beside.ts";
import { makeScaleLog } from "./support/scaleLog.ts";

const usage = `Creates a workspace with a year of mail, to try lists and search at scale. Stop the service first.

  npm run scale -- [--threads 200000]    about five messages a thread, so 1,000,000 by default`;

const { values } = parseArgs({ options: { threads: { type: "string", default: "200000" } } });
const threads = Number(values.threads);
if (!Number.isInteger(threads) || threads < 1) {
  console.error(usage);
  process.exit(2);
}

const rate = (count: number, seconds: number): string => `${Math.round(count / seconds).toLocaleString("en")} a second`;

await besideService(async ({ deps, channels, telegram, database, store, provider, webhooks }: Composition) => {
  const queued = { deliveries: webhooks.deliveries, onQueued: () => {} };
  const id = randomUUID();
  const actor = { kind: "operator", id: "npm run scale" } as const;
  const operator: Cause = { actor, workspaceId: null, correlationId: id, causationId: id };
  const { workspaceId } = await createWorkspace(deps, { name: "Scale", plan: "agency", betaOverride: true }, operator);
  const { key } = await createApiKey(deps, { workspaceId, name: "scale", scopes: allScopes }, operator);
  const cause = { ...operator, workspaceId };
  const identities = [];
  for (const localPart of ["support", "sales", "billing"].map((name) => `${name}-${workspaceId.slice(0, 8)}`)) {
    const { identityId } = await createIdentity(
      deps,
      { workspaceId, domainId: sandboxDomainId(workspaceId), localPart, displayName: "Support" },
      cause,
    );
    identities.push({ id: identityId, email_address: `${localPart}@${deps.settings.sandboxDomain}` });
  }
  const config = loadConfig();
  let saidAt = 0;
  const say = (text: string): void => {
    if (performance.now() - saidAt < 2_000) return;
    saidAt = performance.now();
    console.error(text);
  };
  const began = performance.now();
  const made = await makeScaleLog({
    ...{ owner: database.owner, workspaceId, identities, threads },
    onProgress: (events, messages) =>
      say(`${messages.toLocaleString("en")} messages, ${events.toLocaleString("en")} events`),
  });
  console.error(
    `log: ${made.events.toLocaleString("en")} events, ${rate(made.events, (performance.now() - began) / 1_000)}`,
  );
  const head = await store.head();
  // Nothing is to be done about mail that never was.
  const processes = allProcesses(deps, {
    provider,
    channels,
    telegram,
    instanceId: id,
    ...config,
    webhooks: queued,
    onReduced: () => {},
  });
  for (const { name } of [...processes, ...unansweredReader(processes)]) {
    await database.query(
      "insert into work.processes (name, planned) values ($1, $2) on conflict (name) do update set planned = excluded.planned",
      [name, head],
    );
  }
  console.log(JSON.stringify({ workspace_id: workspaceId, api_key: key, threads, ...made }));
});
