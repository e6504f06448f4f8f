import { newestFirst, readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

export type ApiKeyRow = { id: string; name: string; prefix: string; scopes: string[]; created_at: Date };

const listed = "id, name, prefix, scopes, created_at";

/** Returns the live key with this hash in any workspace: this is how a request finds its workspace. */
export async function apiKeyByHash(
  reads: Reads,
  hash: string,
): Promise<(ApiKeyRow & { workspace_id: string }) | undefined> {
  const { rows } = await reads.ofNone.query<ApiKeyRow & { workspace_id: string }>(
    `select workspace_id, ${listed} from work.api_key_by_hash($1)`,
    [hash],
  );
  return rows[0];
}

/** True if the key with this hash was live once and is revoked, in any workspace. */
export async function isRevokedKey(reads: Reads, hash: string): Promise<boolean> {
  const { rows } = await reads.ofNone.query<{ revoked: boolean }>("select work.is_revoked_key($1) as revoked", [hash]);
  return rows[0]!.revoked;
}

export const apiKeyById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<ApiKeyRow>(reads, workspaceId, { id, select: listed, from: "api_keys", where: "revoked_at is null" });

/** Lists live keys, newest first. */
export const listApiKeys = (reads: Reads, workspaceId: string, window: Window) =>
  readPage<ApiKeyRow>(reads.of(workspaceId), {
    select: listed,
    from: "api_keys",
    where: ["workspace_id = $1", "revoked_at is null"],
    values: [workspaceId],
    order: newestFirst,
    window,
  });
