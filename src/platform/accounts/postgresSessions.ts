import { createHash } from "node:crypto";
import type { Clock, Ids } from "#src/platform/clock.ts";
import type { Database } from "#src/platform/postgres/database.ts";
import type { Session, Sessions } from "./sessions.ts";

/** Milliseconds without a request after which a session ends. */
const idleMs = 12 * 3_600_000;
/** Milliseconds after which a session ends in any case. */
const longestMs = 14 * 86_400_000;
/** Milliseconds for which a replaced token is still accepted. */
const graceMs = 30_000;
/** Milliseconds between two updates of the time of the last request: a busy page costs one write a minute. */
const seenEveryMs = 60_000;

const tokenBytes = 32;

type Row = {
  id: string;
  user_id: string;
  workspace_id: string | null;
  started_at: Date;
  seen_at: Date;
  password_at: Date;
  agent: string | null;
  due: boolean;
};

type SessionChange = { workspaceId?: string | null; atOnce?: boolean };

/** Stores sessions in PostgreSQL, with hashes of their tokens only. */
export function postgresSessions(deps: { database: Pick<Database, "query">; clock: Clock; ids: Ids }): Sessions {
  const { database, clock, ids } = deps;
  const now = () => clock.now();
  const living = () => [new Date(now().getTime() - idleMs), new Date(now().getTime() - longestMs)] as const;
  const newToken = () => ids.random(tokenBytes).toString("base64url");

  async function issued(
    id: string,
    { workspaceId, atOnce = false }: SessionChange,
  ): Promise<(Row & { token: string }) | undefined> {
    const token = newToken();
    const chosen = workspaceId !== undefined;
    const values = [id, ids.uuid(), hashOf(token), now(), chosen, workspaceId ?? null, ...living(), atOnce];
    const { rows } = await database.query<Row>(replace, values);
    return rows[0] && { ...rows[0], token };
  }

  const issue = async (id: string, change: SessionChange) => {
    const row = await issued(id, change);
    return row && { session: sessionOf(row), token: row.token };
  };

  return {
    async start({ userId, workspaceId, agent }) {
      const token = newToken();
      await database.query(removeOld, [userId, ...living()]);
      const values = [ids.uuid(), hashOf(token), userId, workspaceId, now(), agent?.slice(0, 512) ?? null];
      const { rows } = await database.query<Row>(insert, values);
      return { session: sessionOf(rows[0]!), token };
    },
    async find(token, { quietly = false } = {}) {
      const { rows } = await database.query<Row>(select, [
        hashOf(token),
        new Date(now().getTime() - graceMs),
        ...living(),
      ]);
      const [row] = rows;
      if (!row) return undefined;
      const isDue = now().getTime() - row.seen_at.getTime() >= seenEveryMs;
      if (isDue && !quietly) await database.query(see, [row.id, now()]);
      return { ...sessionOf(row), due: row.due };
    },
    rotate: (id, options = {}) => issue(id, options),
    choose: (id, workspaceId) => issue(id, { workspaceId }),
    async confirmPassword(id) {
      await database.query("update work.sessions set password_at = $2 where id = $1", [id, now()]);
    },
    async list(userId) {
      const { rows } = await database.query<Row>(listOf, [userId, ...living()]);
      return rows.map(sessionOf);
    },
    async end(userId, id) {
      const ended = await database.query("delete from work.sessions where user_id = $1 and id = $2 returning id", [
        userId,
        id,
      ]);
      return ended.rows.length > 0;
    },
    async endAll(userId, { except } = {}) {
      const { rows } = await database.query<{ id: string }>(
        "delete from work.sessions where user_id = $1 and ($2::uuid is null or id <> $2) returning id",
        [userId, except ?? null],
      );
      return rows.map(({ id }) => id);
    },
    async renew(userId, workspaceId) {
      const { rows } = await database.query<{ old_id: string }>(renewAll, [userId, workspaceId]);
      return rows.map(({ old_id: id }) => id);
    },
  };
}

const hashOf = (token: string): Buffer => createHash("sha256").update(token).digest();

const sessionOf = (row: Row): Session => ({
  id: row.id,
  userId: row.user_id,
  workspaceId: row.workspace_id,
  startedAt: row.started_at,
  seenAt: row.seen_at,
  passwordAt: row.password_at,
  agent: row.agent,
});

const columns = "id, user_id, workspace_id, started_at, seen_at, password_at, agent, due";

const insert = `
  insert into work.sessions (id, token_sha256, user_id, workspace_id, started_at, seen_at, password_at, agent)
  values ($1, $2, $3, $4, $5, $5, $5, $6) returning ${columns}`;

/** A user's ended sessions are removed when they sign in again. */
const removeOld = "delete from work.sessions where user_id = $1 and (seen_at < $2 or started_at < $3)";

const select = `
  select ${columns} from work.sessions
  where (token_sha256 = $1 or (earlier_sha256 = $1 and replaced_at > $2)) and seen_at >= $3 and started_at >= $4`;

const see = "update work.sessions set seen_at = $2 where id = $1";

/** A replaced token stays valid for a moment; one that was replaced twice within it does not. */
const replace = `
  update work.sessions
  set id = $2, earlier_sha256 = case when $9 then null else token_sha256 end, token_sha256 = $3, replaced_at = $4, due = false,
      workspace_id = case when $5 then $6::uuid else workspace_id end
  where id = $1 and seen_at >= $7 and started_at >= $8
  returning ${columns}`;

const listOf = `
  select ${columns} from work.sessions where user_id = $1 and seen_at >= $2 and started_at >= $3
  order by started_at desc, id limit 100`;

const renewAll = `
  with changed as (
    select id from work.sessions where user_id = $1 and workspace_id = $2 for update
  )
  update work.sessions s set id = gen_random_uuid(), due = true from changed c where s.id = c.id
  returning c.id as old_id`;
