import { parseArgs } from "node:util";
import type { Composition } from "#src/compose.ts";
import { postgresSweep } from "#src/platform/blobs/postgresSweep.ts";
import { type Swept, sweepBlobs } from "#src/platform/blobs/sweep.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { progressBar } from "./support/progress.ts";

const usage = `The blob store: raw mail, attachments, long bodies, sent mail. Works beside a running service.

  npm run blobs -- sweep [--dry-run]    removes what no event names (or those of expired mail alone) and nobody stored within the last 24 hours; reads the whole
                                        log for that.
                                        With --dry-run it only says how much that is.`;

async function sweep({ store, database, deps }: Composition, dryRun: boolean): Promise<Swept> {
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

await runCommand(usage, async () => {
  const { values, positionals } = parseArgs({ options: { "dry-run": { type: "boolean" } }, allowPositionals: true });
  if (positionals.length !== 1 || positionals[0] !== "sweep") throw new Misuse("Give a command.");
  const dryRun = values["dry-run"] === true;
  const { blobs, bytes } = await withComposition((composition) => sweep(composition, dryRun));
  console.log(JSON.stringify(dryRun ? { would_remove: { blobs, bytes } } : { removed: { blobs, bytes } }, null, 2));
});
