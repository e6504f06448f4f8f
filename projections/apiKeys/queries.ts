import { page } from "../page.ts";
import type { Reads } from "../reads.ts";

export type ApiKeyRow = { id: string; name: string; prefix: string; scopes: string[]; created_at: Date };

const listed = "id, name, prefix, scopes, created_at";

/** The live key with this hash, whatever its workspace: this is how a request finds out which one it belongs to. */
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

export async function apiKeyById(reads: Reads, workspaceId: string, id: string): Promise<ApiKeyRow | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<ApiKeyRow>(`select ${listed} from api_keys where workspace_id = $1 and id = $2 and revoked_at is null`, [
      workspaceId,
      id,
    ]);
  return rows[0];
}

/** Live keys, newest first. */
export const listApiKeys = (reads: Reads, workspaceId: string, window: { limit: number; offset: number }) =>
  page<ApiKeyRow>(reads.of(workspaceId), {
    select: listed,
    from: "api_keys",
    where: ["workspace_id = $1", "revoked_at is null"],
    values: [workspaceId],
    orderBy: "created_at desc, id",
    ...window,
  });
