import type { TreeHead } from "./merkle.ts";

/** A tree head and the name of its log, in the form of C2SP tlog-checkpoint. */
export type LogCheckpoint = TreeHead & { origin: string };

/** Returns the text that is signed: origin, size and root, one a line. */
export const writeCheckpoint = ({ origin, size, root }: LogCheckpoint): string =>
  `${origin}\n${size}\n${root.toString("base64")}\n`;

/** Reads the text of a checkpoint; lines that follow are extensions, and ignored. Undefined if it is none. */
export function readCheckpoint(text: string): LogCheckpoint | undefined {
  const [, origin = "", size = "", encoded = ""] =
    /^([^\n]+)\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\n/.exec(text) ?? [];
  if (origin === "") return undefined;
  return { origin, size: Number(size), root: Buffer.from(encoded, "base64") };
}

/** Returns the name of a tree's log: `<host>/audit/<tree>/<epoch>`. */
export const originOf = (host: string, { treeId, epoch }: { treeId: string; epoch: number }): string =>
  `${host}/audit/${treeId}/${epoch}`;

/** Returns the epoch in the name of a tree's log. */
export const epochOf = (origin: string): number => Number(origin.slice(origin.lastIndexOf("/") + 1));
