import { allWorkspaces } from "#projections/workspaces/queries.ts";
import { createApiKey } from "./commands/apiKeys.ts";
import type { Dependencies } from "./commands/dependencies.ts";
import type { Cause } from "./commands/handle.ts";
import { derivedId } from "./commands/ids.ts";
import { firstOwnerLink } from "./commands/members/invitations.ts";
import { createWorkspace } from "./commands/workspaces.ts";
import type { EventStore } from "./eventStore/eventStore.ts";
import { firstKeyScopes } from "./http/framework/keys/scopes.ts";
import type { Patiently } from "./patientStart.ts";

/**
 * A development install begins with a workspace and a key, so that a newcomer has something to type. Undefined if there is one
 * already. beta_override: no plan limit meets a newcomer. `patiently`: for what may be repeated; a workspace that may be there is not made again.
 * Instances that start at the same moment come to the same workspace, each with a key of its own to show.
 */
export async function firstWorkspace(
  deps: Dependencies,
  patiently: Patiently = (step) => step(),
): Promise<{ workspaceId: string; apiKey: string } | undefined> {
  const isThere = async () => (await allWorkspaces(deps.reads)).length > 0;
  // What the read models show is there, however far they are: after a crash nobody may write them before the dead holder's lease is over.
  if (await patiently(isThere)) return undefined;
  if (await patiently(() => isInLog(deps.store))) return undefined;
  const requestId = deps.ids.uuid();
  const cause: Cause = {
    actor: { kind: "operator", id: "first start" },
    workspaceId: null,
    correlationId: requestId,
    causationId: requestId,
  };
  const id = derivedId("workspace", "first start");
  const workspace = { workspaceId: id, name: "My workspace", plan: "agency", betaOverride: true } as const;
  const { workspaceId } = await createWorkspace(deps, workspace, cause);
  const wanted = { workspaceId, name: "first key", scopes: firstKeyScopes };
  const key = await patiently(() => createApiKey(deps, wanted, cause));
  await deps.projected(key.position, { of: ["workspaces", "apiKeys"] });
  return { workspaceId, apiKey: key.key };
}

/**
 * A link by which its holder becomes the owner of the oldest workspace, for the terminal of a development install; undefined if there is none or it
 * has a member. A new one at every start: those before it are good no more.
 */
export async function firstOwnerInvitation(deps: Dependencies): Promise<string | undefined> {
  const [oldest] = await allWorkspaces(deps.reads);
  return oldest && firstOwnerLink(deps, oldest.id);
}

/** Read models that were not filled yet would make a second one of every install whose database is new and whose log is not. */
async function isInLog(store: EventStore): Promise<boolean> {
  const head = await store.head();
  if (head === 0) return false;
  const done = new AbortController();
  try {
    for await (const { events, position } of store.subscribe({
      after: 0,
      categories: ["workspace"],
      signal: done.signal,
    })) {
      if (events.length > 0) return true;
      if (position >= head) return false;
    }
    return false;
  } finally {
    done.abort();
  }
}
