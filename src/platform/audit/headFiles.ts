import { randomUUID } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { HeadCopies } from "./heads.ts";

/** Copies in a folder, a file for each tree: `audit-head-<tree>.txt`. */
export function headFiles(folder: string): HeadCopies {
  const fileOf = (treeId: string): string => join(folder, `audit-head-${treeId}.txt`);
  return {
    async read(treeId) {
      try {
        return await readFile(fileOf(treeId), "utf8");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
        throw error;
      }
    },
    async write(treeId, checkpoint) {
      await mkdir(folder, { recursive: true });
      const made = `${fileOf(treeId)}.${randomUUID()}`;
      await writeFile(made, checkpoint);
      await rename(made, fileOf(treeId));
    },
  };
}
