import type { Database } from "#src/platform/postgres/database.ts";

/** Tracks who is viewing a draft right now; kept for seconds only. Uses the database's clock, which all instances share. */
export type Presence = {
  /** Records that this person has the draft open. Resolves with the names of the others who have. */
  note(at: ViewedDraft, person: { userId: string; name: string }): Promise<string[]>;
  /** The names of others who have the draft open. Reads only. */
  others(at: ViewedDraft, userId: string): Promise<string[]>;
};

/** A draft in its workspace: viewers in other workspaces are neither shown nor can see it. */
export type ViewedDraft = { workspaceId: string; draftId: string };

/** Seconds that a person counts as present after their page's last report. Pages report every 10 seconds. */
const hereFor = 25;

export function createPresence({ database }: { database: Pick<Database, "query"> }): Presence {
  const others: Presence["others"] = async ({ workspaceId, draftId }, userId) => {
    const { rows } = await database.query<{ name: string }>(select, [workspaceId, draftId, userId, hereFor]);
    return rows.map(({ name }) => name);
  };
  return {
    others,
    async note(at, { userId, name }) {
      await database.query(upsert, [at.workspaceId, at.draftId, userId, name, hereFor]);
      return others(at, userId);
    },
  };
}

const select = `
  select name from work.presence
  where workspace_id = $1 and draft_id = $2 and user_id <> $3 and seen_at > clock_timestamp() - make_interval(secs => $4)
  order by name, user_id limit 20`;

/** Also deletes the rows of people who no longer view the draft. */
const upsert = `
  with left_behind as (
    delete from work.presence where (draft_id, user_id) in (
      select draft_id, user_id from work.presence
      where seen_at < clock_timestamp() - make_interval(secs => 4 * $5::int) and (draft_id, user_id) <> ($2::uuid, $3::uuid)
      limit 100 for update skip locked
    )
  )
  insert into work.presence (workspace_id, draft_id, user_id, name, seen_at) values ($1, $2, $3, $4, clock_timestamp())
  on conflict (draft_id, user_id) do update set name = excluded.name, seen_at = excluded.seen_at`;
