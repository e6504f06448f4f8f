import { randomUUID } from "node:crypto";
import { createApiKey } from "#src/commands/apiKeys.ts";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import { setPlan } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import type { Plan } from "#streams/workspace/events.ts";
import { asking } from "../asking.ts";
import { operator } from "../cause.ts";
import { workspaceCreated } from "../examples/index.ts";
import { type InProcess, until } from "../inProcess.ts";
import { tenantOf } from "./story.ts";

/** Makes a workspace on this plan, with an identity. `createdAt`: ISO time, in the past for periods that began earlier. */
export async function openTenantOn(
  service: InProcess,
  { plan, createdAt = new Date().toISOString() }: { plan: Plan; createdAt?: string },
  settings: Partial<NewIdentity> = {},
) {
  const { deps, url } = service;
  const workspaceId = randomUUID();
  const cause = operator(workspaceId);
  const workspace = workspaceCreated({ plan, createdAt });
  await deps.workspaces.handle(workspaceId, { type: "CreateWorkspace", workspace }, cause);
  const keyOf = async (scopes: readonly string[]) => {
    const { key } = await createApiKey(deps, { workspaceId, name: "test key", scopes }, cause);
    await service.caughtUp();
    return key;
  };
  const key = await keyOf(allScopes);
  const identity = await service.identity(workspaceId, settings);
  return {
    ...tenantOf(service, { id: workspaceId, key, keyOf, ask: asking(url, key), identity }),
    /** Reads the workspace with its counts. */
    usage: async () => (await asking(url, key)("GET /v1/workspaces/me")).json,
    /** Changes the given fields of the plan, and waits until readers see it. */
    async changePlan(changes: Omit<Parameters<typeof setPlan>[1], "workspaceId">) {
      const { position } = await setPlan(deps, { workspaceId, ...changes }, cause);
      await until(() => deps.projected(position));
    },
  };
}
