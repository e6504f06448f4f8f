import { parseArgs } from "node:util";
import { postgresSweep } from "#src/blobs/postgresSweep.ts";
import { type Swept, sweepBlobs } from "#src/blobs/sweep.ts";
import type { Composition } from "#src/compose.ts";
import { StartError } from "#src/startError.ts";
import { besideService } from "./support/beside.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { progressBar } from "./support/progress.ts";

const usage = `The blob store: raw mail, attachments, long bodies, sent mail. Works beside a running service.

  npm run blobs -- sweep [--dry-run]    removes what no event names and nobody stored within the last 24 hours; reads the whole log for that.
                                        With --dry-run it only says how much that is.`;

async function sweep(composition: Composition, dryRun: boolean): Promise<Swept> {
  const { store, database, deps } = composition;
  await requireWholeLog(composition);
  const bar = progressBar("reading the log", await store.head());
  try {
    return await sweepBlobs({
      ...{ store, blobs: deps.blobs, swept: postgresSweep(database.owner), dryRun },
      onProgress: (position, events) => bar.update(position, events),
    });
  } finally {
    bar.stop();
  }
}

/** A log that ends before what was read of it is another one, or an older copy: what its lost end names would be removed. */
async function requireWholeLog({ store, database }: Composition): Promise<void> {
  const { rows } = await database.query<{ read: number }>(
    "select coalesce(max(position), 0) as read from work.checkpoints",
  );
  const [head, read] = [await store.head(), rows[0]?.read ?? 0];
  if (head < read)
    throw new StartError(
      `The event log ends at ${head}, but the read models have read it up to ${read}: it is another log, or an older copy. Nothing was removed.`,
    );
}

await runCommand(usage, async () => {
  const { values, positionals } = parseArgs({ options: { "dry-run": { type: "boolean" } }, allowPositionals: true });
  if (positionals.length !== 1 || positionals[0] !== "sweep") throw new Misuse("Give a command.");
  const dryRun = values["dry-run"] === true;
  const { blobs, bytes } = await besideService((composition) => sweep(composition, dryRun));
  console.log(JSON.stringify(dryRun ? { would_remove: { blobs, bytes } } : { removed: { blobs, bytes } }, null, 2));
});
