import { page } from "../page.ts";
import type { Tx } from "../projection.ts";

export type ApiKeyRow = { id: string; name: string; prefix: string; scopes: string[]; created_at: Date };

const listed = "id, name, prefix, scopes, created_at";

/** The live key with this hash, whatever its workspace: this is how a request finds out which one it belongs to. */
export async function apiKeyByHash(sql: Tx, hash: string): Promise<(ApiKeyRow & { workspace_id: string }) | undefined> {
  const { rows } = await sql.query<ApiKeyRow & { workspace_id: string }>(
    `select workspace_id, ${listed} from api_keys where hash = $1 and revoked_at is null`,
    [hash],
  );
  return rows[0];
}

export async function apiKeyById(sql: Tx, workspaceId: string, id: string): Promise<ApiKeyRow | undefined> {
  const { rows } = await sql.query<ApiKeyRow>(
    `select ${listed} from api_keys where workspace_id = $1 and id = $2 and revoked_at is null`,
    [workspaceId, id],
  );
  return rows[0];
}

/** Live keys, newest first. */
export const listApiKeys = (sql: Tx, workspaceId: string, window: { limit: number; offset: number }) =>
  page<ApiKeyRow>(sql, {
    select: listed,
    from: "api_keys",
    where: ["workspace_id = $1", "revoked_at is null"],
    values: [workspaceId],
    orderBy: "created_at desc, id",
    ...window,
  });
