import { statfs } from "node:fs/promises";
import type { Logger } from "pino";
import { repeatedly } from "#src/platform/clock.ts";
import type { Sql } from "./database.ts";

const megabyte = 1_000_000;

/** Returns a sentence if storage for data is short; undefined if there is room. */
export type ShortageCheck = () => Promise<string | undefined>;

/** Checks a disk of this machine: `minFreeMb` must be free at the directory. */
export const shortOfDisk =
  (directory: string, minFreeMb: number): ShortageCheck =>
  async () => {
    const { bavail, bsize } = await statfs(directory);
    const freeMb = Math.floor((bavail * bsize) / megabyte);
    return freeMb < minFreeMb ? `${freeMb} MB are free on the disk of ${directory}, below ${minFreeMb} MB` : undefined;
  };

/** Checks storage that the service cannot see: the database may have `maxMb` at most. */
export const databaseTooLarge =
  (database: Sql, maxMb: number): ShortageCheck =>
  async () => {
    const { rows } = await database.query<{ size: string }>(
      "select pg_database_size(current_database())::text as size",
    );
    const mb = Math.ceil(Number(rows[0]?.size ?? 0) / megabyte);
    return mb > maxMb ? `the database holds ${mb} MB, above ${maxMb} MB` : undefined;
  };

export type DiskRoom = { isFull(): boolean; close(): void };

/** Checks storage repeatedly, the first time before it resolves. While a check fails, the last result holds. */
export async function watchDiskRoom(
  shortage: ShortageCheck,
  { log, everyMs = 5_000 }: { log: Pick<Logger, "warn" | "info">; everyMs?: number },
): Promise<DiskRoom> {
  let isFull = false;

  async function look(): Promise<void> {
    const detail = await shortage();
    const changed = isFull !== (detail !== undefined);
    isFull = detail !== undefined;
    if (!changed) return;
    if (isFull) log.warn({ detail }, "no mail is taken until there is room on the disk");
    else log.info("there is room on the disk again, mail is taken");
  }

  const close = await repeatedly(look, everyMs);
  return { isFull: () => isFull, close };
}
