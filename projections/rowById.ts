import type { Reads } from "./reads.ts";

/** `where`: a further condition on the row. */
export type RowQuery = { id: string; select: string; from: string; where?: string };

/** Returns the workspace's row with this id, if there is one. */
export async function rowById<Row extends Record<string, unknown>>(
  reads: Reads,
  workspaceId: string,
  { id, select, from, where = "true" }: RowQuery,
): Promise<Row | undefined> {
  const { rows } = await reads
    .of(workspaceId)
    .query<Row>(`select ${select} from ${from} where workspace_id = $1 and id = $2 and ${where}`, [workspaceId, id]);
  return rows[0];
}
