import { parseArgs } from "node:util";
import { projections } from "#projections/index.ts";
import type { Projection } from "#projections/projection.ts";
import type { Composition } from "#src/compose.ts";
import { StartError } from "#src/platform/startError.ts";
import { loadReadModels, mainGroup } from "#src/runtime/projections/checkpoints.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { type RebuildOptions, rebuild } from "#src/runtime/projections/rebuild.ts";
import { type Verified, verify } from "#src/runtime/projections/verify.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { progressBar } from "./support/progress.ts";

const usage = `The read models. Works beside a running service.

  npm run projections -- status            how far each has got
  npm run projections -- rebuild [NAME]    rebuilds one (or all) from the log beside the live tables, then swaps them
  npm run projections -- verify [NAME]     replays one (or all) and compares every row; exit code 1 if any row differs`;

const interrupted = new AbortController();

function chosen(name: string | undefined): readonly Projection[] {
  if (name === undefined) return projections;
  const found = projections.filter((projection) => projection.name === name);
  if (found.length > 0) return found;
  throw new Misuse(
    `Unknown projection ${name}: expected one of ${projections.map((projection) => projection.name).join(", ")}.`,
  );
}

async function status({ database, store }: Composition): Promise<void> {
  const names = projections.map(({ name }) => name);
  const [stored, head] = [await loadReadModels(database, names), await store.head()];
  const shown = projections.map(({ name, version, independent }) => {
    const found = stored.get(name);
    if (!found) return { projection: name, version, position: 0, head, lag: head, state: "not created yet" };
    const { position } = found;
    const left = !independent && found.checkpoint !== mainGroup ? "left behind: see the service's log" : "";
    const state = found.version === version ? left : `tables have version ${found.version}`;
    return { projection: name, version, position, head, lag: Math.max(0, head - position), state };
  });
  console.table(shown);
}

async function withProgress(
  { database, store }: Composition,
  label: string,
  work: (replay: RebuildOptions) => Promise<void>,
): Promise<void> {
  const bar = progressBar(label, await store.head());
  const onProgress = (position: number, events: number): void => bar.update(position, events);
  try {
    await work({ database, store, tablesSql: tablesFile, signal: interrupted.signal, onProgress });
  } finally {
    bar.stop();
  }
}

async function rebuildAll(composition: Composition, wanted: readonly Projection[]): Promise<void> {
  for (const projection of wanted) {
    await withProgress(composition, projection.name, (replay) => rebuild(replay, projection));
    console.log(`${projection.name}: rebuilt`);
  }
}

async function verifyAll(composition: Composition, wanted: readonly Projection[]): Promise<void> {
  await requireTables(composition, wanted);
  for (const projection of wanted) {
    let found: Verified | undefined;
    await withProgress(composition, projection.name, async (replay) => {
      found = await verify(replay, projection);
    });
    tell(projection.name, found!);
    if (found!.differing > 0) process.exitCode = 1;
  }
}

function tell(name: string, { position, rows, differing, differences }: Verified): void {
  console.log(
    `${name}: ${rows} rows at position ${position}, ${differing === 0 ? "equal" : `${differing} differences`}`,
  );
  for (const { table, side, row } of differences) console.log(`  ${table}, only in ${side}: ${row}`);
  if (differing > differences.length) console.log(`  and ${differing - differences.length} more`);
}

async function requireTables({ database }: Composition, wanted: readonly Projection[]): Promise<void> {
  const stored = await loadReadModels(
    database,
    wanted.map(({ name }) => name),
  );
  const unlike = wanted.filter(({ name, version }) => stored.get(name)?.version !== version).map(({ name }) => name);
  if (unlike.length === 0) return;
  throw new StartError(
    `The tables of ${unlike.join(", ")} do not exist in this version yet: start the service, or run rebuild.`,
  );
}

function read(args: string[]): (composition: Composition) => Promise<void> {
  const [command, name, ...rest] = parseArgs({ args, options: {}, allowPositionals: true }).positionals;
  if (rest.length > 0) throw new Misuse(`Expected at most one projection; unexpected: ${rest.join(" ")}.`);
  const wanted = chosen(name);
  if (command === "status" && name === undefined) return status;
  if (command === "rebuild") return (composition) => rebuildAll(composition, wanted);
  if (command === "verify") return (composition) => verifyAll(composition, wanted);
  throw new Misuse(command === undefined ? "Give a command." : `Unknown command: ${[command, name].join(" ").trim()}.`);
}

process.once("SIGINT", () => interrupted.abort(new StartError("Interrupted: nothing was changed.")));
await runCommand(usage, () => withComposition(read(process.argv.slice(2))));
