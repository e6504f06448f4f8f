import type { Reads } from "./reads.ts";

/** Returns the ids of what existed in a workspace at a time. A row stays when what it describes is deleted. */
export async function idsExistingAt(
  reads: Reads,
  workspaceId: string,
  { table, at }: { table: "identities" | "rules" | "domains"; at: Date },
): Promise<string[]> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ id: string }>(
      `select id from ${table} where workspace_id = $1 and created_at <= $2 and (deleted_at is null or deleted_at > $2)`,
      [workspaceId, at],
    );
  return rows.map(({ id }) => id);
}
