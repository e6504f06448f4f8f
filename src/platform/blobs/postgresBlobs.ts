import { createHash } from "node:crypto";
import type { Sql } from "#src/platform/postgres/database.ts";
import { BlobCorrupt, type Blobs } from "./blobs.ts";

/** Size above which checking whether the blob exists is cheaper than sending it. */
const largeBytes = 256 * 1024;

/**
 * Blobs in PostgreSQL, in `work.blobs`: durable with the commit of the one statement that writes them. A `put` of bytes that are stored
 * already refreshes the row's time, so that the sweep (postgresSweep.ts) keeps it.
 */
export const postgresBlobs = (sql: Sql): Blobs => ({
  async put(bytes, sha256) {
    const hash = sha256 === undefined ? createHash("sha256").update(bytes).digest() : Buffer.from(sha256, "hex");
    if (bytes.length <= largeBytes || !(await touch(sql, hash))) {
      await sql.query(
        "insert into work.blobs (sha256, bytes) values ($1, $2) on conflict (sha256) do update set touched_at = now()",
        [hash, bytes],
      );
    }
    return hash.toString("hex");
  },
  async get(sha256) {
    const { rows } = await sql.query<{ bytes: Buffer }>(
      "select bytes from work.blobs where sha256 = decode($1, 'hex')",
      [sha256],
    );
    const bytes = rows[0]?.bytes;
    if (bytes === undefined) return undefined;
    const actual = createHash("sha256").update(bytes).digest("hex");
    if (actual !== sha256) throw new BlobCorrupt(`the blob ${sha256} holds other bytes: their hash is ${actual}`);
    return bytes;
  },
  async size(sha256) {
    const { rows } = await sql.query<{ size: number }>(
      "select octet_length(bytes) as size from work.blobs where sha256 = decode($1, 'hex')",
      [sha256],
    );
    return rows[0]?.size;
  },
  // Blobs are stored uncompressed, so the database reads only this part.
  async part(sha256, { from, count }) {
    const { rows } = await sql.query<{ bytes: Buffer }>(
      "select substring(bytes from $2::int for $3::int) as bytes from work.blobs where sha256 = decode($1, 'hex')",
      [sha256, from + 1, count],
    );
    return rows[0]?.bytes;
  },
});

/** False if there is no such blob. */
async function touch(sql: Sql, hash: Buffer): Promise<boolean> {
  const { rowCount } = await sql.query("update work.blobs set touched_at = now() where sha256 = $1", [hash]);
  return (rowCount ?? 0) > 0;
}
