import { foldHashes, hashesPerTile, levelsPerTile, type ReadNodes, type TreeNode } from "#src/audit/merkle.ts";
import { readPage, type Window } from "../page.ts";
import type { Reads } from "../reads.ts";

/** A tree as it is: its number of entries, and the position of the last one in the log. */
export type AuditTree = { size: number; position: number };

/** Returns a tree; undefined if it has no entry. */
export async function auditTreeOf(reads: Reads, treeId: string): Promise<AuditTree | undefined> {
  const { rows } = await reads
    .of(treeId)
    .query<AuditTree>("select size, position from audit_trees where workspace_id = $1", [treeId]);
  return rows[0];
}

/** Returns the ids of all trees. For the operator and the service itself, never for a request. */
export async function treeIds(reads: Reads): Promise<string[]> {
  const { rows } = await reads.ofAll.query<{ id: string }>(
    "select workspace_id as id from audit_trees order by workspace_id",
  );
  return rows.map(({ id }) => id);
}

/** A signed head. `verifier_key`: the public key that its signature needs. */
export type HeadRow = { epoch: number; size: number; checkpoint: string; verifier_key: string; signed_at: Date };

/** Lists the signed heads of a tree, the newest first. */
export const listHeads = (reads: Reads, treeId: string, window: Window) =>
  readPage<HeadRow>(reads.of(treeId), {
    select: "epoch, size, checkpoint, verifier_key, signed_at",
    from: "work.audit_signed_heads",
    where: ["tree_id = $1"],
    values: [treeId],
    order: { columns: ["epoch", "size"], direction: "desc" },
    window,
  });

/**
 * Returns the trees that have grown since their newest head was signed, if that was before `signedBefore`, those without a head, and those
 * that are shorter than their head. For the service's own clock, never for a request.
 */
export async function unsignedTrees(reads: Reads, signedBefore: Date): Promise<string[]> {
  const { rows } = await reads.ofAll.query<{ id: string }>(
    `select t.workspace_id as id from audit_trees t left join work.audit_heads h on h.tree_id = t.workspace_id
     where h.size is null or (t.size <> h.size and h.contradicted_at is null and (t.size < h.size or h.signed_at < $1)) order by t.workspace_id`,
    [signedBefore],
  );
  return rows.map(({ id }) => id);
}

/** Returns the entry numbers of events, by their position in the log. */
export async function entriesAt(
  reads: Reads,
  treeId: string,
  positions: readonly number[],
): Promise<Map<number, number>> {
  const { rows } = await reads
    .of(treeId)
    .query<{ position: number; entry: number }>(
      "select position, entry from audit_entries where workspace_id = $1 and position = any($2::bigint[])",
      [treeId, positions],
    );
  return new Map(rows.map(({ position, entry }) => [position, entry]));
}

/** Location of an entry's event in the log. */
export type EntryEvent = { entry: number; position: number; stream: string; revision: number };

/** Returns where the events of the entries from `from` (inclusive) to `to` (exclusive) are, in order. */
export async function entryEvents(
  reads: Reads,
  treeId: string,
  { from, to }: { from: number; to: number },
): Promise<EntryEvent[]> {
  const { rows } = await reads.of(treeId).query<EntryEvent>(
    `select entry, position, stream, revision from audit_entries
     where workspace_id = $1 and entry >= $2 and entry < $3 order by entry`,
    [treeId, from, to],
  );
  return rows;
}

/** Returns the key of a tree's salts (32 bytes); undefined if the tree has no entry. It stays within the service. */
export async function saltKeyOf(reads: Reads, treeId: string): Promise<Buffer | undefined> {
  const { rows } = await reads
    .of(treeId)
    .query<{ key: Buffer }>("select key from work.audit_salts where tree_id = $1", [treeId]);
  return rows[0]?.key;
}

/**
 * Returns a reader of a tree's nodes (src/audit/merkle.ts). A node is computed from the hashes of its tile. Throws if the tree has no such
 * node.
 */
export const nodesOf =
  (reads: Reads, treeId: string): ReadNodes =>
  async (nodes) => {
    const wanted = nodes.map(storedHashes);
    const { rows } = await reads.of(treeId).query<{ n: number; hash: Buffer }>(
      `select n, hash from unnest($2::int[], $3::bigint[], $4::bigint[]) with ordinality as wanted (level, first, past, n)
       join lateral (
         select entry as number, hash from audit_entries where wanted.level = 0 and workspace_id = $1 and entry >= first and entry < past
         union all
         select number, hash from audit_subtrees s
         where wanted.level > 0 and workspace_id = $1 and s.level = wanted.level and number >= first and number < past
       ) found on true order by n, number`,
      [treeId, wanted.map(({ level }) => level), wanted.map(({ first }) => first), wanted.map(({ past }) => past)],
    );
    const hashes = nodes.map((): Buffer[] => []);
    for (const { n, hash } of rows) hashes[n - 1]!.push(hash);
    return hashes.map((own, n) => {
      const { first, past } = wanted[n]!;
      if (own.length !== past - first)
        throw new Error(`the tree ${treeId} lacks hashes of ${JSON.stringify(nodes[n])}`);
      return foldHashes(own);
    });
  };

/** Returns which stored hashes a node is computed from: those of its tile's level, from `first` to before `past`. */
function storedHashes({ level, number }: TreeNode): { level: number; first: number; past: number } {
  const width = 2 ** (level % levelsPerTile);
  return { level: level - (level % levelsPerTile), first: number * width, past: (number + 1) * width };
}

/** Returns the hashes of a tile in the form of C2SP tlog-tiles: `width` hashes of one level, 32 bytes each. */
export async function tileOf(
  reads: Reads,
  treeId: string,
  { level, number, width }: { level: number; number: number; width: number },
): Promise<Buffer> {
  const first = number * hashesPerTile;
  const nodes = Array.from({ length: width }, (_, n) => ({ level: level * levelsPerTile, number: first + n }));
  return Buffer.concat(await nodesOf(reads, treeId)(nodes));
}
