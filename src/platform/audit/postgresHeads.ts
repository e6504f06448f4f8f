import type { Database } from "#src/platform/postgres/database.ts";
import type { AuditHeads, HeadCopies, SignedHead } from "./heads.ts";

const columns = `tree_id as "treeId", epoch, size, root, position, checkpoint, signed_at as "signedAt",
  contradicted_at as "contradictedAt"`;

/** Heads in PostgreSQL, in `work.audit_heads` and `work.audit_signed_heads`. */
export const postgresHeads = (database: Pick<Database, "query" | "transaction">, copies: HeadCopies): AuditHeads => ({
  copies,
  async newest(treeId) {
    const { rows } = await database.query<SignedHead>(`select ${columns} from work.audit_heads where tree_id = $1`, [
      treeId,
    ]);
    return rows[0];
  },
  record: ({ treeId, epoch, size, root, position, checkpoint, signedAt, verifierKey }, last) =>
    database.transaction(async (tx) => {
      const { rowCount } = await tx.query(
        `insert into work.audit_heads as newest (tree_id, epoch, size, root, position, checkpoint, signed_at)
         select $1, $2, $3, $4, $5, $6, $7 where $8::int is null or exists (select from work.audit_heads where tree_id = $1)
         on conflict (tree_id) do update set epoch = excluded.epoch, size = excluded.size, root = excluded.root,
           position = excluded.position, checkpoint = excluded.checkpoint, signed_at = excluded.signed_at, contradicted_at = null
         where newest.epoch = $8 and newest.size = $9 and newest.root = $10`,
        [
          ...[treeId, epoch, size, root, position, checkpoint, signedAt],
          ...[last?.epoch ?? null, last?.size ?? null, last?.root ?? null],
        ],
      );
      if (rowCount !== 1) return false;
      await tx.query(
        `insert into work.audit_signed_heads (tree_id, epoch, size, checkpoint, verifier_key, signed_at)
         values ($1, $2, $3, $4, $5, $6)`,
        [treeId, epoch, size, checkpoint, verifierKey, signedAt],
      );
      await tx.query("insert into work.audit_keys (verifier_key, since) values ($1, $2) on conflict do nothing", [
        verifierKey,
        signedAt,
      ]);
      return true;
    }),
  async contradict({ treeId, epoch, size, root, checkpoint, at }) {
    await database.query(
      `insert into work.audit_heads as newest (tree_id, epoch, size, root, position, checkpoint, signed_at, contradicted_at)
       values ($1, $2, $3, $4, 0, $5, $6, $6)
       on conflict (tree_id) do update set contradicted_at = coalesce(newest.contradicted_at, excluded.contradicted_at)`,
      [treeId, epoch, size, root, checkpoint, at],
    );
  },
  async endEpochsBefore(epoch, treeId) {
    await database.query("delete from work.audit_heads where tree_id = $1 and epoch < $2", [treeId, epoch]);
  },
  async contradicted() {
    const { rows } = await database.query<{ id: string }>(
      "select tree_id as id from work.audit_heads where contradicted_at is not null order by tree_id",
    );
    return rows.map(({ id }) => id);
  },
  async list(treeId, limit) {
    const { rows } = await database.query<{ epoch: number; size: number; checkpoint: string; signedAt: Date }>(
      `select epoch, size, checkpoint, signed_at as "signedAt" from work.audit_signed_heads
       where tree_id = $1 order by epoch desc, size desc limit $2`,
      [treeId, limit],
    );
    return rows;
  },
  async unannounced(before) {
    const { rows } = await database.query<SignedHead>(
      `select ${columns} from work.audit_heads newest
       where contradicted_at is null and exists (
         select from work.audit_signed_heads
         where (tree_id, epoch, size) = (newest.tree_id, newest.epoch, newest.size) and announced_at is null
       ) and not exists (select from work.audit_signed_heads where tree_id = newest.tree_id and announced_at >= $1)
       order by tree_id`,
      [before],
    );
    return rows;
  },
  cosign: ({ treeId, epoch, size }, signatures) =>
    database.transaction(async (tx) => {
      const head = [treeId, epoch, size];
      for (const { name, line } of signatures)
        await tx.query(
          `update work.audit_signed_heads set checkpoint = checkpoint || $4
           where tree_id = $1 and epoch = $2 and size = $3 and strpos(checkpoint, $5) = 0`,
          [...head, line, `\n— ${name} `],
        );
      const { rows } = await tx.query<{ checkpoint: string }>(
        "select checkpoint from work.audit_signed_heads where tree_id = $1 and epoch = $2 and size = $3",
        head,
      );
      const { checkpoint } = rows[0]!;
      await tx.query("update work.audit_heads set checkpoint = $4 where tree_id = $1 and epoch = $2 and size = $3", [
        ...head,
        checkpoint,
      ]);
      return checkpoint;
    }),
  async announce({ treeId, epoch, size }, at) {
    await database.query(
      "update work.audit_signed_heads set announced_at = $4 where tree_id = $1 and epoch = $2 and size = $3",
      [treeId, epoch, size, at],
    );
  },
  async verifierKeyOf({ treeId, epoch, size }) {
    const { rows } = await database.query<{ verifierKey: string }>(
      `select verifier_key as "verifierKey" from work.audit_signed_heads where tree_id = $1 and epoch = $2 and size = $3`,
      [treeId, epoch, size],
    );
    return rows[0]?.verifierKey;
  },
  async verifierKeys() {
    const { rows } = await database.query<{ verifierKey: string; since: Date }>(
      `select verifier_key as "verifierKey", since from work.audit_keys order by since, verifier_key`,
    );
    return rows;
  },
});
