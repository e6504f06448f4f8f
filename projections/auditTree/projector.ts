import { entryOf } from "#src/audit/leaf.ts";
import { foldHashes, hashEntry, hashesPerTile, levelsPerTile } from "#src/audit/merkle.ts";
import type { Recorded } from "#streams/event.ts";
import type { Projection, ProjectorTx } from "../projection.ts";
import { treeIdOf } from "./treeId.ts";

/**
 * The hash tree over the events of each workspace (src/audit/README.md). The salts' keys are random, so they are kept in work.audit_salts,
 * which a rebuild does not touch: a replay gives the same tree.
 */
export const auditTree: Projection = {
  name: "auditTree",
  version: 2,
  tables: ["audit_entries", "audit_subtrees", "audit_trees"],
  hasLateIndexes: true,
  independent: true,
  async project(tx, events) {
    const added = byTree(events);
    const trees = await readTrees(tx, added);
    const grown = [...added].map(([id, own]) => grow(trees.get(id)!, own));
    writeEntries(
      tx,
      grown.flatMap(({ entries }) => entries),
    );
    writeSubtrees(
      tx,
      grown.flatMap(({ subtrees }) => subtrees),
    );
    writeTrees(tx, grown);
  },
};

function byTree(events: readonly Recorded[]): Map<string, Recorded[]> {
  const trees = new Map<string, Recorded[]>();
  for (const event of events) {
    const own = trees.get(treeIdOf(event));
    if (own) own.push(event);
    else trees.set(treeIdOf(event), [event]);
  }
  return trees;
}

/** A tree before a batch. `edge`: hashes of the last tile of each level, lowest first, if the batch completes the lowest one. */
type Tree = { id: string; saltKey: Buffer; size: number; edge: Buffer[][] };

async function readTrees(tx: ProjectorTx, added: ReadonlyMap<string, readonly Recorded[]>): Promise<Map<string, Tree>> {
  const ids = [...added.keys()];
  const [{ rows: made }, { rows: known }] = await Promise.all([
    tx.query<{ tree_id: string; key: Buffer }>(
      `with missing as (insert into work.audit_salts (tree_id) select unnest($1::uuid[]) on conflict do nothing returning tree_id, key)
       select tree_id, key from missing union all select tree_id, key from work.audit_salts where tree_id = any($1::uuid[])`,
      [ids],
    ),
    tx.query<{ id: string; size: number }>(
      "select workspace_id as id, size from audit_trees where workspace_id = any($1::uuid[])",
      [ids],
    ),
  ]);
  const sizes = new Map(known.map(({ id, size }) => [id, size]));
  const trees = made.map(({ tree_id: id, key }): Tree => ({ id, saltKey: key, size: sizes.get(id) ?? 0, edge: [] }));
  const completing = trees.filter(({ id, size }) => (size % hashesPerTile) + added.get(id)!.length >= hashesPerTile);
  await Promise.all(completing.map(async (tree) => Object.assign(tree, { edge: await readEdge(tx, tree) })));
  return new Map(trees.map((tree) => [tree.id, tree]));
}

/** Reads the incomplete tile of each level. */
async function readEdge(tx: ProjectorTx, { id, size }: Tree): Promise<Buffer[][]> {
  const edge: Buffer[][] = [];
  for (let level = 0, count = size; level === 0 || count > 0; level += levelsPerTile) {
    const from = count - (count % hashesPerTile);
    const { rows } = await tx.query<{ hash: Buffer }>(
      level === 0
        ? "select hash from audit_entries where workspace_id = $1 and entry >= $2 order by entry"
        : "select hash from audit_subtrees where workspace_id = $1 and number >= $2 and level = $3 order by number",
      level === 0 ? [id, from] : [id, from, level],
    );
    edge.push(rows.map(({ hash }) => hash));
    count = Math.floor(count / hashesPerTile);
  }
  return edge;
}

type EntryRow = { id: string; entry: number; position: number; stream: string; revision: number; hash: Buffer };
type SubtreeRow = { id: string; level: number; number: number; hash: Buffer };
type Grown = { id: string; size: number; position: number; entries: EntryRow[]; subtrees: SubtreeRow[] };

function grow({ id, saltKey, size, edge }: Tree, events: readonly Recorded[]): Grown {
  const subtrees: SubtreeRow[] = [];
  const entries = events.map((event, n) => {
    const hash = hashEntry(entryOf(event, saltKey).bytes);
    addHash({ id, edge, subtrees }, { depth: 0, number: size + n, hash });
    const { position, stream, revision } = event;
    return { id, entry: size + n, position, stream, revision, hash };
  });
  return { id, size: size + events.length, position: events.at(-1)!.position, entries, subtrees };
}

/** Adds a hash to the edge's tile at this depth; a tile that is complete is folded into one hash of the next. */
function addHash(
  tree: { id: string; edge: Buffer[][]; subtrees: SubtreeRow[] },
  { depth, number, hash }: { depth: number; number: number; hash: Buffer },
): void {
  const { id, edge, subtrees } = tree;
  edge[depth] ??= [];
  const tile = edge[depth];
  tile.push(hash);
  if ((number + 1) % hashesPerTile !== 0) return;
  const whole = foldHashes(tile.splice(0));
  const above = { level: (depth + 1) * levelsPerTile, number: (number + 1) / hashesPerTile - 1 };
  subtrees.push({ id, ...above, hash: whole });
  addHash(tree, { depth: depth + 1, number: above.number, hash: whole });
}

function writeEntries(tx: ProjectorTx, rows: readonly EntryRow[]): void {
  tx.write(
    `insert into audit_entries
     select * from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::int[], $6::bytea[])`,
    [
      rows.map(({ id }) => id),
      rows.map(({ entry }) => entry),
      rows.map(({ position }) => position),
      rows.map(({ stream }) => stream),
      rows.map(({ revision }) => revision),
      rows.map(({ hash }) => hash),
    ],
  );
}

function writeSubtrees(tx: ProjectorTx, rows: readonly SubtreeRow[]): void {
  if (rows.length === 0) return;
  tx.write("insert into audit_subtrees select * from unnest($1::uuid[], $2::int[], $3::bigint[], $4::bytea[])", [
    rows.map(({ id }) => id),
    rows.map(({ level }) => level),
    rows.map(({ number }) => number),
    rows.map(({ hash }) => hash),
  ]);
}

function writeTrees(tx: ProjectorTx, trees: readonly Grown[]): void {
  tx.write(
    `insert into audit_trees select * from unnest($1::uuid[], $2::bigint[], $3::bigint[])
     on conflict (workspace_id) do update set size = excluded.size, position = excluded.position`,
    [trees.map(({ id }) => id), trees.map(({ size }) => size), trees.map(({ position }) => position)],
  );
}
