import type { Reads } from "../reads.ts";

/** Returns the place of a message among the messages of its thread, from 1, and their number; undefined if there is no such message. */
export async function numberInThread(
  reads: Reads,
  workspaceId: string,
  messageId: string,
): Promise<{ number: number; count: number } | undefined> {
  const { rows } = await reads.of(workspaceId).query<{ number: number; count: number }>(
    `select count(*) filter (where (other.created_at, other.id) <= (asked.created_at, asked.id))::int as number, count(*)::int as count
     from messages asked join messages other on other.thread_id = asked.thread_id and other.workspace_id = $1
     where asked.workspace_id = $1 and asked.id = $2 having count(*) > 0`,
    [workspaceId, messageId],
  );
  return rows[0];
}
