import { apiKeyByHash, apiKeyById, listApiKeys } from "#projections/apiKeys/queries.ts";
import { apiKeyState, createApiKey, newKey, revokeApiKey } from "#src/commands/apiKeys.ts";
import { apiKeyStream } from "#streams/apiKey/events.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { invalid } from "./framework/errors.ts";
import { requireDrained } from "./framework/keys/requireDrained.ts";
import { allScopes, defaultScopes, type Scope } from "./framework/keys/scopes.ts";
import { listRoute } from "./framework/lists.ts";
import type { KeyPrincipal } from "./framework/principal.ts";
import { route } from "./framework/route.ts";
import { ApiKeyCreated, ApiKeyList, ApiKeyQuery, CreateApiKey } from "./schemas/apiKeys.ts";
import { Deleted } from "./schemas/common.ts";

/** Revision of a live key's stream: its only event is the key's creation, at revision 0. */
const liveRevision = 0;

/**
 * For createAuthenticate: the live key with this hash, with the guard that prevents effects after its revocation (streams/README.md,
 * invariant 7).
 */
export const createFindKey =
  (deps: Pick<HttpDependencies, "reads" | "keyUses">) =>
  async (hash: string): Promise<KeyPrincipal | undefined> => {
    const key = await apiKeyByHash(deps.reads, hash);
    if (!key) return undefined;
    deps.keyUses.note(key.id);
    const { id, name, scopes, workspace_id: workspaceId } = key;
    return {
      kind: "api_key",
      id,
      workspaceId,
      name,
      scopes,
      guard: { stream: apiKeyStream(id), revision: liveRevision },
    };
  };

export const apiKeyRoutes = (deps: HttpDependencies) => [
  route(
    "POST /v1/api-keys",
    {
      scope: "write:keys",
      limit: "send",
      summary: "Create an API key",
      description: "The key is shown only in this response. If you lose it, revoke it and create a new one.",
      body: CreateApiKey,
      answers: ApiKeyCreated,
      secretAnswer: true,
    },
    async ({ workspaceId, principal, body, cause, secretOnce }) => {
      const scopes = grantable(body.scopes, principal.scopes);
      const key = await secretOnce(() => newKey(deps));
      const { id, position } = await createApiKey(deps, { workspaceId, name: body.name, scopes, key }, cause);
      await deps.readAfter(position, id);
      const row = await apiKeyById(deps.reads, workspaceId, id);
      // Another caller revoked the key in between.
      if (!row) throw noSuchKey();
      return { ...row, key };
    },
  ),

  listRoute(
    "GET /v1/api-keys",
    {
      scope: "read:keys",
      limit: "read",
      summary: "List live API keys, newest first",
      query: ApiKeyQuery,
      answers: ApiKeyList,
      cursors: deps.cursors,
    },
    async ({ workspaceId, query }) => {
      const page = await listApiKeys(deps.reads, workspaceId, query);
      const lastUses = await deps.keyUses.lastUses(page.data.map(({ id }) => id));
      return { ...page, data: page.data.map((key) => ({ ...key, last_used_at: lastUses.get(key.id) ?? null })) };
    },
  ),

  route(
    "DELETE /v1/api-keys/:key_id",
    {
      scope: "write:keys",
      limit: "write",
      summary: "Revoke an API key, immediately and permanently",
      description:
        "After this response, every request with the key gets 401, including requests in flight. A 503 means that the key is revoked but such a request may still be running: retry.",
      answers: Deleted,
      load: ({ workspaceId, params }) => apiKeyState(deps, { workspaceId, id: params.key_id }),
    },
    async ({ workspaceId, params, callId, cause }) => {
      const id = params.key_id;
      // If the key is already revoked, wait all the same: after a 503 the caller repeats the DELETE while requests may still be ending.
      const position = await revokeApiKey(deps, { workspaceId, id }, cause).then((revoked) => revoked.position, ifGone);
      await requireDrained(deps.revocation, [id], { id, exclude: callId });
      if (position === undefined) throw noSuchKey();
      await deps.readAfter(position, id);
      return { id, deleted: true };
    },
  ),
];

/** The scopes of a new key: the requested ones, if its creator has them all; or the default. */
function grantable(asked: readonly Scope[] | undefined, own: readonly string[]): Scope[] {
  if (asked === undefined) return defaultScopes(own);
  const excess = asked.find((scope) => !own.includes(scope));
  if (excess !== undefined)
    throw invalid(
      "scopes",
      `your API key does not have the scope ${excess}, so it cannot give it to a new key: omit that scope, or use a key that has it`,
    );
  return allScopes.filter((scope) => asked.includes(scope));
}

function ifGone(error: unknown): undefined {
  if (!(error instanceof Rejected) || error.code !== "not_found") throw error;
}

const noSuchKey = (): Rejected => new Rejected("not_found", "no such resource");
