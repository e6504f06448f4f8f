import type { Sql } from "#src/platform/postgres/database.ts";
import type { StoredBlob, SweptStore } from "./sweep.ts";

const pageSize = 1_000;

/** The sweep of `work.blobs`. `owner`: the role that owns the tables; the service's own may not delete. */
export const postgresSweep = (owner: Sql): SweptStore => ({
  async dayAgo() {
    const { rows } = await owner.query<{ at: string }>("select (now() - interval '24 hours')::text as at");
    return rows[0]!.at;
  },
  async readUpTo() {
    const { rows } = await owner.query<{ position: number }>(
      "select coalesce(max(position), 0) as position from work.checkpoints",
    );
    return rows[0]!.position;
  },
  async untouched(before, after) {
    const { rows } = await owner.query<StoredBlob>(
      `select encode(sha256, 'hex') as sha256, size from work.blobs
       where sha256 > decode($1, 'hex') and touched_at < $2 order by work.blobs.sha256 limit ${pageSize}`,
      [after, before],
    );
    return rows;
  },
  // If a blob is put at the same moment, this waits for the row and then checks its new time.
  async remove(hashes, before) {
    const { rows } = await owner.query<StoredBlob>(
      `delete from work.blobs where sha256 in (select decode(hash, 'hex') from unnest($1::text[]) as hash) and touched_at < $2
       returning encode(sha256, 'hex') as sha256, size`,
      [hashes, before],
    );
    return rows;
  },
});
