import { createApiKey } from "#src/commands/apiKeys.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import type { composeBeside } from "#test/support/besideService.ts";
import { operator } from "#test/support/cause.ts";
import { type Client, createClient } from "../support/client.ts";
import type { Instance } from "../support/instance.ts";
import type { Identity } from "./conversation.ts";

/** A workspace of its own beside others: its agent, and one identity on the sandbox domain. */
export type Tenant = { workspaceId: string; client: Client; identity: Identity };

/** Opens one on the plan `pro`. `settings`: those of its identity, as POST /v1/identities has them; without approvers unless they say so. */
export async function openTenant(
  { deps }: ReturnType<typeof composeBeside>,
  instance: Pick<Instance, "url" | "smtpPort">,
  { name, ...settings }: { name: string } & Record<string, unknown>,
): Promise<Tenant> {
  const { workspaceId } = await createWorkspace(deps, { name, plan: "pro", betaOverride: true }, operator());
  const cause = operator(workspaceId);
  const { key, position } = await createApiKey(deps, { workspaceId, name: "soak", scopes: allScopes }, cause);
  if (!(await deps.projected(position))) throw new Error("the read models did not catch up");
  const client = createClient({ url: instance.url, smtpPort: instance.smtpPort, apiKey: key });
  const identity = await client.identity({ approval_channel: undefined, ...settings });
  return { workspaceId, client, identity };
}
