import { allWorkspaces } from "#projections/workspaces/queries.ts";
import { createApiKey } from "../commands/apiKeys.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import type { Cause } from "../commands/handle.ts";
import { firstOwnerLink } from "../commands/members/invitations.ts";
import { createWorkspace } from "../commands/workspaces.ts";
import { type EventStore, Unavailable } from "../eventStore/eventStore.ts";
import { firstKeyScopes } from "../http/framework/keys/scopes.ts";
import type { RetryStep } from "./waitForServers.ts";

/** `patiently`: retries steps that may be repeated. `oneByOne`: serialises instances that start at the same moment. */
type Starting = { patiently: RetryStep; oneByOne: <T>(work: () => Promise<T>) => Promise<T> };

/** Milliseconds that the event log may take for each batch. */
const answersWithinMs = 10_000;

type First = { workspaceId: string; apiKey: string };

const usual: Starting = { patiently: (step) => step(), oneByOne: (work) => work() };

/**
 * Creates the first workspace and a key in a development install, for a newcomer to use. Undefined if there is a workspace already. Not
 * repeated after a failure that may have created one.
 */
export async function firstWorkspace(deps: Dependencies, { patiently, oneByOne } = usual): Promise<First | undefined> {
  const isThere = async () => (await allWorkspaces(deps.reads)).length > 0;
  // A workspace in the read models exists, however far behind they are: after a crash no instance may write them before the dead holder's
  // lease expires.
  if (await patiently(isThere)) return undefined;
  return oneByOne(async () => ((await patiently(() => isInLog(deps.store))) ? undefined : makeFirst(deps, patiently)));
}

/** beta_override: no plan limits for a newcomer. */
async function makeFirst(deps: Dependencies, patiently: RetryStep): Promise<First> {
  const requestId = deps.ids.uuid();
  const cause: Cause = {
    actor: { kind: "operator", id: "first start" },
    workspaceId: null,
    correlationId: requestId,
    causationId: requestId,
  };
  const workspace = { name: "My workspace", plan: "agency", betaOverride: true } as const;
  const { workspaceId } = await createWorkspace(deps, workspace, cause);
  const wanted = { workspaceId, name: "first key", scopes: firstKeyScopes };
  const key = await patiently(() => createApiKey(deps, wanted, cause));
  await deps.projected(key.position, { of: ["workspaces", "apiKeys"] });
  return { workspaceId, apiKey: key.key };
}

/**
 * Makes a link whose holder becomes the owner of the oldest workspace, for the terminal of a development install; undefined if there is
 * no workspace or it has a member. A new one at every start: it invalidates earlier ones.
 */
export async function firstOwnerInvitation(deps: Dependencies): Promise<string | undefined> {
  const [oldest] = await allWorkspaces(deps.reads);
  return oldest && firstOwnerLink(deps, oldest.id);
}

/**
 * True if the log has a workspace: with read models that are still empty, an install with a new database and an old log would get a
 * second one. Throws Unavailable if the log stops answering; a subscription would wait for it.
 */
export async function isInLog(
  store: Pick<EventStore, "head" | "subscribe">,
  withinMs = answersWithinMs,
): Promise<boolean> {
  const head = await store.head();
  if (head === 0) return false;
  const over = new AbortController();
  const bound = setTimeout(() => over.abort(), withinMs);
  try {
    const options = { after: 0, categories: ["workspace"], signal: over.signal };
    for await (const { events, position } of store.subscribe(options)) {
      if (events.length > 0) return true;
      if (position >= head) return false;
      bound.refresh();
    }
    throw new Unavailable(`the event log did not answer within ${withinMs / 1_000} s`);
  } finally {
    clearTimeout(bound);
    over.abort();
  }
}
