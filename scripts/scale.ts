import { randomUUID } from "node:crypto";
import { parseArgs } from "node:util";
import { createApiKey } from "#src/commands/apiKeys.ts";
import type { Cause } from "#src/commands/handle.ts";
import { createIdentity } from "#src/commands/identities/identities.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import type { Composition } from "#src/compose.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import { allProcesses } from "#src/processes/index.ts";
import { loadConfig } from "#src/settings/config.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { progressBar } from "./support/progress.ts";
import { makeScaleLog } from "./support/scaleLog.ts";

const usage = `Creates a workspace with a year of made-up mail, to try lists and search on. Stop the service first: started again, it
fills its read models.

  npm run scale -- [--threads 200000] [--workspaces 1]    about five messages a thread; the threads are shared out`;

await runCommand(usage, async () => {
  const { values } = parseArgs({
    options: { threads: { type: "string", default: "200000" }, workspaces: { type: "string", default: "1" } },
  });
  const [threads, workspaces] = [Number(values.threads), Number(values.workspaces)];
  if (!Number.isInteger(threads) || threads < 1) throw new Misuse("--threads: expected a whole number.");
  if (!Number.isInteger(threads / workspaces)) throw new Misuse("--workspaces: expected a divisor of --threads.");
  await withComposition(async (composition) => {
    for (let n = 0; n < workspaces; n++) await scale(composition, threads / workspaces);
    await composition.database.owner.query("analyze es.events");
  });
});

async function scale(composition: Composition, threads: number): Promise<void> {
  const { deps, channels, telegram, database, store, provider, webhooks } = composition;
  const id = randomUUID();
  const actor = { kind: "operator", id: "npm run scale" } as const;
  const operator: Cause = { actor, workspaceId: null, correlationId: id, causationId: id };
  const { workspaceId } = await createWorkspace(deps, { name: "Scale", plan: "agency", betaOverride: true }, operator);
  const { key } = await createApiKey(deps, { workspaceId, name: "scale", scopes: allScopes }, operator);
  const cause = { ...operator, workspaceId };
  const identities = [];
  for (const localPart of ["support", "sales", "billing"].map((name) => `${name}-${workspaceId.slice(-12)}`)) {
    const { identityId } = await createIdentity(
      deps,
      { workspaceId, domainId: sandboxDomainId(workspaceId), localPart, displayName: "Support" },
      cause,
    );
    identities.push({ id: identityId, email_address: `${localPart}@${deps.settings.sandboxDomain}` });
  }
  const bar = progressBar("messages", threads * 5);
  const made = await makeScaleLog({
    ...{ owner: database.owner, workspaceId, identities, threads },
    onProgress: (messages, events) => bar.update(messages, events),
  });
  bar.stop();
  const head = await store.head();
  // Processes skip these events: they must do nothing about mail that never arrived.
  const processes = allProcesses(deps, {
    provider,
    channels,
    telegram,
    instanceId: id,
    ...loadConfig(),
    webhooks: { ...webhooks, onQueued: () => {} },
  });
  for (const { name } of processes) {
    await database.query(
      "insert into work.processes (name, planned) values ($1, $2) on conflict (name) do update set planned = excluded.planned",
      [name, head],
    );
  }
  console.log(JSON.stringify({ workspace_id: workspaceId, api_key: key, threads, ...made }));
}
