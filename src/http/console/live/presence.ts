import type { Database } from "#src/platform/postgres/database.ts";

/** Who looks at what, for a short while: nothing is kept of it. By the clock of the database, which all instances share. */
export type Presence = {
  /** This person has the draft open now. Answers who else has, by name. */
  note(at: Place, person: { userId: string; name: string }): Promise<string[]>;
  /** Who has the draft open, besides this person, by name. Reads only. */
  others(at: Place, userId: string): Promise<string[]>;
};

/** A draft in its own workspace: nobody of another one is named, nor sees who is there. */
export type Place = { workspaceId: string; draftId: string };

/** How long somebody counts as there after their page last said so, in seconds. Pages say it every 10. */
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

/** Who was there for the last time goes as others come. */
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
