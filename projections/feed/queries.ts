import type { PublicEventType } from "#streams/webhook/events.ts";
import type { Reads } from "../reads.ts";

export { publishedTypes, subjectOf } from "./publicEvents.ts";

/** Position in the feed: everything at or before it has been read. */
export type FeedPlace = { position: number; part: number };

export const feedStart: FeedPlace = { position: 0, part: 0 };

export type FeedRow = FeedPlace & {
  id: string;
  type: PublicEventType;
  created_at: Date;
  workspace_id: string;
  sequence: number;
  subject: string;
  identity_id: string | null;
  data: Record<string, unknown>;
};

const columns = "position, part, id, type, created_at, workspace_id, sequence, subject, identity_id, data";

/** Returns at most `limit` events after a position, oldest first; only of these types, if given. */
export async function eventsAfter(
  reads: Reads,
  workspaceId: string,
  { after, types, limit }: { after: FeedPlace; types?: readonly string[] | undefined; limit: number },
): Promise<FeedRow[]> {
  const values = [workspaceId, after.position, after.part, limit];
  if (!types) {
    const { rows } = await reads.of(workspaceId).query<FeedRow>(
      `select ${columns} from feed_events where workspace_id = $1 and (position, part) > ($2, $3)
       order by position, part limit $4`,
      values,
    );
    return rows;
  }
  // Reads each type by a separate index range, so that a rare type is not searched among all others.
  const { rows } = await reads.of(workspaceId).query<FeedRow>(
    `select found.* from unnest($5::text[]) as wanted (type) cross join lateral (
       select ${columns} from feed_events where workspace_id = $1 and type = wanted.type and (position, part) > ($2, $3)
       order by position, part limit $4
     ) found order by position, part limit $4`,
    [...values, [...new Set(types)]],
  );
  return rows;
}

/** Returns the published events of the log event at a position. */
export async function eventsAt(reads: Reads, workspaceId: string, position: number): Promise<FeedRow[]> {
  const { rows } = await reads
    .of(workspaceId)
    .query<FeedRow>(`select ${columns} from feed_events where workspace_id = $1 and position = $2 order by part`, [
      workspaceId,
      position,
    ]);
  return rows;
}

/** Returns the end of a workspace's feed. */
export async function feedEnd(reads: Reads, workspaceId: string): Promise<FeedPlace> {
  const { rows } = await reads
    .of(workspaceId)
    .query<FeedPlace>(
      "select position, part from feed_events where workspace_id = $1 order by position desc, part desc limit 1",
      [workspaceId],
    );
  return rows[0] ?? feedStart;
}

/** Returns an event's payload, the same in a webhook and in the feed. */
export const payloadOf = ({ id, type, created_at, workspace_id, sequence, data }: FeedRow) => ({
  id,
  type,
  created_at,
  workspace_id,
  sequence,
  data,
});
