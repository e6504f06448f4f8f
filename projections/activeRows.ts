import type { Reads } from "./reads.ts";

/** Returns the id of the first row that is not deleted and has this assistant, if any. */
export async function activeRowOfAssistant(
  reads: Reads,
  workspaceId: string,
  { table, assistantId }: { table: "identities" | "rules"; assistantId: string },
): Promise<string | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<{ id: string }>(
      `select id from ${table} where workspace_id = $1 and assistant_id = $2 and deleted_at is null order by id limit 1`,
      [workspaceId, assistantId],
    );
  return rows[0]?.id;
}
