import { parseArgs } from "node:util";
import { projections } from "#projections/index.ts";
import type { Projection } from "#projections/projection.ts";
import type { Composition } from "#src/compose.ts";
import { StartError } from "#src/platform/startError.ts";
import { loadReadModels, mainGroup, type StoredReadModel } from "#src/runtime/projections/checkpoints.ts";
import { unfilledVersion } from "#src/runtime/projections/membership.ts";
import { tablesFile } from "#src/runtime/projections/projectionTables.ts";
import { type RebuildOptions, rebuild } from "#src/runtime/projections/rebuild.ts";
import { largestOtherTables, readModelSizes, type TableSize } from "#src/runtime/projections/sizes.ts";
import { type Verified, verify } from "#src/runtime/projections/verify.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { printTable } from "./support/printTable.ts";
import { progressBar } from "./support/progress.ts";

const usage = `The read models. Works beside a running service.

  npm run projections -- status            how far each is, its size, and the largest other tables
  npm run projections -- rebuild [NAME]    rebuilds one (or all, in one pass) from the log beside the live tables, then swaps them
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

/** Number of tables besides those of read models whose size is shown. */
const othersShown = 8;

async function status({ database, store }: Composition): Promise<void> {
  const names = projections.map(({ name }) => name);
  const [stored, head] = [await loadReadModels(database, names), await store.head()];
  const sizes = await readModelSizes(database, projections);
  const models = projections.map(({ name, version, independent }) => {
    const found = stored.get(name);
    const behind = grouped(Math.max(0, head - (found?.position ?? 0)));
    const columns = [name, `${version}`, behind, ...sizeColumns(sizes.get(name))];
    if (!found) return { columns, note: "not created yet" };
    if (found.version !== version) return { columns, note: noteOnRebuild(found) };
    if (!independent && found.checkpoint !== mainGroup) return { columns, note: "left behind: see the service's log" };
    return { columns };
  });
  const others = (await largestOtherTables(database, othersShown)).map((table) => ({
    columns: [table.name, "", "", ...sizeColumns(table)],
  }));
  console.log(`The log ends at position ${head}. Numbers of rows are PostgreSQL's estimates.\n`);
  const sizeNames = ["rows", "tables", "indexes"];
  printTable([
    { columns: ["read model", "version", "behind", ...sizeNames] },
    ...models,
    { columns: [] },
    { columns: ["largest other tables", "", "", ...sizeNames] },
    ...others,
  ]);
}

function noteOnRebuild({ version, rebuilt_to }: StoredReadModel): string {
  if (rebuilt_to === null) return version === unfilledVersion ? "not filled yet" : `tables have version ${version}`;
  const upTo = `up to ${grouped(rebuilt_to)} so far`;
  return version === unfilledVersion ? `being filled, ${upTo}` : `being rebuilt from version ${version}, ${upTo}`;
}

const grouped = (count: number): string => count.toLocaleString("en-US");
const sizeColumns = (size: TableSize | undefined): string[] =>
  size ? [grouped(size.rows), size.tables, size.indexes] : ["", "", ""];

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
  let failed = new Map<string, Error>();
  await withProgress(composition, wanted.length === 1 ? wanted[0]!.name : "read models", async (replay) => {
    const onWaiting: RebuildOptions["onWaiting"] = ({ projections: names, err }) =>
      console.error(`\n${names.join(", ")}: waiting and trying again: ${err.message}`);
    failed = await rebuild({ ...replay, onWaiting }, wanted);
  });
  for (const { name } of wanted) console.log(`${name}: ${failed.get(name)?.message ?? "rebuilt"}`);
  if (failed.size > 0) process.exitCode = 1;
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

process.once("SIGINT", () =>
  interrupted.abort(new StartError("Interrupted: read models that were not exchanged yet are unchanged.")),
);
await runCommand(usage, () => withComposition(read(process.argv.slice(2))));
