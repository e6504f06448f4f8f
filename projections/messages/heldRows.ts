import type { Reads } from "../reads.ts";
import { rowById } from "../rowById.ts";

/** Filter for inbound messages of a thread above a filing number; `by`: if given, only messages that arrived by then. */
export type Newer = { threadId: string; filingNumber: number; by?: Date | undefined };

/** A held message from a person: its arrival time, no content. */
export type HeldRow = {
  id: string;
  filing_number: number;
  from_email: string;
  from_name: string | null;
  received_at: Date;
};

const heldColumns = "id, filing_number, from_email, from_name, received_at";

export const heldById = (reads: Reads, workspaceId: string, id: string) =>
  rowById<HeldRow>(reads, workspaceId, { id, select: heldColumns, from: "held_messages" });

/** Returns a thread's held messages, newest first, up to a limit. */
export async function heldOfThread(
  reads: Reads,
  workspaceId: string,
  { threadId, count }: { threadId: string; count: number },
): Promise<HeldRow[]> {
  const { rows } = await reads.of(workspaceId).query<HeldRow>(
    `select ${heldColumns} from held_messages where workspace_id = $1 and thread_id = $2
     order by filing_number desc limit $3`,
    [workspaceId, threadId, count],
  );
  return rows;
}

/** Returns the newest held message above a filing number, if any: it makes a draft stale as well. */
export async function newerHeld(
  reads: Reads,
  workspaceId: string,
  { threadId, filingNumber, by }: Newer,
): Promise<HeldRow | undefined> {
  const { rows } = await reads.of(workspaceId).query<HeldRow>(
    `select ${heldColumns} from held_messages where workspace_id = $1 and thread_id = $2 and filing_number > $3
       and ($4::timestamptz is null or received_at <= $4) order by filing_number desc limit 1`,
    [workspaceId, threadId, filingNumber, by ?? null],
  );
  return rows[0];
}
