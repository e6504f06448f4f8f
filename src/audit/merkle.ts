import { hash } from "node:crypto";

/**
 * The hash tree of RFC 6962 (RFC 9162, section 2.1). A node is named by its level and its number on that level; node (0, 5) is the sixth
 * entry, node (3, 1) covers entries 8 to 15. Only complete nodes are named.
 */
export type TreeNode = { level: number; number: number };

/** Returns the hashes (32 bytes each) of complete nodes, in the order of the question. */
export type ReadNodes = (nodes: readonly TreeNode[]) => Promise<readonly Buffer[]>;

/** Entries from `start` (inclusive) to `end` (exclusive). */
type Range = { start: number; end: number };

/** A tile has the hashes of 256 neighbouring nodes of one level; the tile above it has the roots of such tiles, eight levels higher. */
export const levelsPerTile = 8;
export const hashesPerTile = 2 ** levelsPerTile;

const sha256 = (...parts: readonly Buffer[]): Buffer => hash("sha256", Buffer.concat(parts), "buffer");

const leafPrefix = Buffer.from([0]);
const nodePrefix = Buffer.from([1]);

/** Returns the hash of an entry: SHA-256 of a zero byte and the entry. */
export const hashEntry = (entry: Buffer): Buffer => sha256(leafPrefix, entry);

/** Returns the hash of an inner node: SHA-256 of a one byte and its two children. */
export const hashChildren = (left: Buffer, right: Buffer): Buffer => sha256(nodePrefix, left, right);

/** Returns the hash of a complete subtree from the hashes of one of its levels: 1, 2, 4, … of them, left to right. */
export function foldHashes(hashes: readonly Buffer[]): Buffer {
  let level = hashes;
  while (level.length > 1)
    level = Array.from({ length: level.length / 2 }, (_, n) => hashChildren(level[2 * n]!, level[2 * n + 1]!));
  return level[0]!;
}

/** Returns the root of a tree without entries. */
export const emptyRoot = (): Buffer => sha256();

/** Returns the largest power of two below `size`, which must be 2 or more. */
const splitOf = (size: number): number => 2 ** (Math.ceil(Math.log2(size)) - 1);

/** Returns the complete nodes that cover a range, left to right. The range begins where a node of its size may begin. */
function nodesOf({ start, end }: Range): TreeNode[] {
  const nodes: TreeNode[] = [];
  for (let at = start; at < end; ) {
    const level = Math.floor(Math.log2(end - at));
    nodes.push({ level, number: at / 2 ** level });
    at += 2 ** level;
  }
  return nodes;
}

/** Returns the hash of each range, with one read for all. */
async function hashRanges(read: ReadNodes, ranges: readonly Range[]): Promise<Buffer[]> {
  const nodes = ranges.map(nodesOf);
  const hashes = [...(await read(nodes.flat()))];
  return nodes.map(({ length }) => hashes.splice(0, length).reduceRight((right, left) => hashChildren(left, right)));
}

/** Returns the root of the tree's first `size` entries. */
export async function rootOf(read: ReadNodes, size: number): Promise<Buffer> {
  if (size === 0) return emptyRoot();
  const [root] = await hashRanges(read, [{ start: 0, end: size }]);
  return root!;
}

/** Returns the inclusion proof of an entry: the sibling hashes on the path from the entry to the root of a tree of this size. */
export function proveInclusion(read: ReadNodes, { entry, size }: { entry: number; size: number }): Promise<Buffer[]> {
  const beside: Range[] = [];
  for (let range: Range = { start: 0, end: size }; range.end - range.start > 1; ) {
    const middle = range.start + splitOf(range.end - range.start);
    const [left, right] = [
      { start: range.start, end: middle },
      { start: middle, end: range.end },
    ];
    beside.unshift(entry < middle ? right : left);
    range = entry < middle ? left : right;
  }
  return hashRanges(read, beside);
}

/** Returns the proof that the tree of `from` entries (1 or more) is the beginning of the tree of `to` entries. */
export function proveConsistency(read: ReadNodes, { from, to }: { from: number; to: number }): Promise<Buffer[]> {
  const proof: Range[] = [];
  let range: Range = { start: 0, end: to };
  while (range.end !== from) {
    const middle = range.start + splitOf(range.end - range.start);
    const [left, right] = [
      { start: range.start, end: middle },
      { start: middle, end: range.end },
    ];
    proof.unshift(from <= middle ? right : left);
    range = from <= middle ? left : right;
  }
  if (range.start > 0) proof.unshift(range);
  return hashRanges(read, proof);
}

/** A tree's size and root. */
export type TreeHead = { size: number; root: Buffer };

/** True if the proof shows that `older` is the beginning of `newer`. */
export function isConsistent(older: TreeHead, newer: TreeHead, proof: readonly Buffer[]): boolean {
  if (older.size > newer.size || older.size < 1) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  const isWhole = Number.isInteger(Math.log2(older.size));
  const [first, ...rest] = isWhole ? [older.root, ...proof] : proof;
  if (!first) return false;
  let [at, last] = [older.size - 1, newer.size - 1];
  while (at % 2 === 1) [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  let [oldRoot, newRoot] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      oldRoot = hashChildren(hash, oldRoot);
      newRoot = hashChildren(hash, newRoot);
      while (at % 2 === 0 && at > 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else newRoot = hashChildren(newRoot, hash);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 && oldRoot.equals(older.root) && newRoot.equals(newer.root);
}
