import { execFile } from "node:child_process";
import { rename, rm, writeFile } from "node:fs/promises";
import { parseArgs, promisify } from "node:util";
import pg from "pg";
import { connectionTo } from "#src/platform/postgres/connectionTo.ts";
import { everyWorkspace } from "#src/platform/postgres/reads.ts";
import { StartError } from "#src/platform/startError.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withServiceDatabase } from "./support/operatorCommand.ts";

const usage = `A backup of the whole PostgreSQL database, as pg_restore takes it. Works beside a running service.

  npm run backup -- FILE    as the role of DATABASE_OWNER_URL, by pg_dump, which has to be in PATH and no older than the server`;

const run = promisify(execFile);

async function backUp(ownerUrl: string, file: string): Promise<void> {
  await requirePgDump(ownerUrl);
  const unfinished = `${file}.unfinished`;
  // Row level security shows a session the rows of the workspace that it names; a session for all workspaces sees all rows.
  const { connectionString, options: PGOPTIONS } = connectionTo(ownerUrl, {
    ...{ options: `-c countersign.workspace=${everyWorkspace}` },
    // Parameters of pg, which pg_dump would refuse.
    ...{ lock_timeout: 0, idle_in_transaction_session_timeout: 0 },
  });
  const url = new URL(connectionString as string);
  const env = { ...process.env, PGPASSWORD: decodeURIComponent(url.password), PGOPTIONS };
  // Other users of the machine can read the arguments of its processes.
  url.password = "";
  const options = ["--format=custom", "--enable-row-security", `--file=${unfinished}`, `--dbname=${url.href}`];
  try {
    // The file holds mail and hashes of passwords: only the operator may read it.
    await writeFile(unfinished, "", { mode: 0o600 });
    await run("pg_dump", options, { env });
    await rename(unfinished, file);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw new StartError(`There is no backup: ${(error as { stderr?: string }).stderr?.trim() || error}`);
  }
}

async function requirePgDump(ownerUrl: string): Promise<void> {
  const server = await versionOfServer(ownerUrl);
  const remedy = `install PostgreSQL's client programs of version ${Math.floor(server)} or newer`;
  const { stdout } = await run("pg_dump", ["--version"]).catch(() => {
    throw new StartError(`There is no pg_dump in PATH: ${remedy}.`);
  });
  const dump = Number(/\d+/.exec(stdout)?.[0]);
  if (dump < Math.floor(server))
    throw new StartError(`The pg_dump in PATH has version ${dump}, and the server ${server}: ${remedy}.`);
}

async function versionOfServer(ownerUrl: string): Promise<number> {
  const client = new pg.Client(connectionTo(ownerUrl, { connectionTimeoutMillis: 5_000 }));
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>("show server_version");
    return Number.parseFloat(rows[0]!.server_version);
  } catch (error) {
    throw new StartError(`There is no backup: PostgreSQL cannot be reached (${(error as Error).message}).`);
  } finally {
    await client.end().catch(() => {});
  }
}

await runCommand(usage, async () => {
  const { positionals } = parseArgs({ options: {}, allowPositionals: true });
  const [file, ...rest] = positionals;
  if (file === undefined || rest.length > 0) throw new Misuse("Name one file.");
  await withServiceDatabase(async ({ config, urls }) => {
    await backUp(urls.ownerUrl, file);
    console.log(`${file}: the whole database. Keep SECRETS_KEYS and the roles of PostgreSQL too, elsewhere.`);
    if (config.eventStoreUrl)
      console.log("The event log is in EventStoreDB: this backup has to be younger than that of its data.");
  });
});
