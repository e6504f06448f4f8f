import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";

/** As much of the reference event store as the benchmark uses. */
export type Emmett = {
  appendToStream(stream: string, events: object[], options?: object): Promise<unknown>;
  schema: { migrate(): Promise<unknown> };
  close(): Promise<void>;
};

type Opened = { store: Emmett; close(): Promise<void> };

const folder = fileURLToPath(new URL(".", import.meta.url));
const packageName = "@event-driven-io/emmett-postgresql";

/**
 * emmett's PostgreSQL store. It has a package of its own, for its peers do not go together with the service's; installed when first
 * asked for. Undefined, with the reason said, if that cannot be done.
 */
export async function openEmmett(connectionString: string): Promise<Opened | undefined> {
  if (!existsSync(new URL(`./node_modules/${packageName}/package.json`, import.meta.url)) && !install())
    return undefined;
  // Not a literal: the types of the service are checked where this package is not installed.
  const entry = new URL(`./node_modules/${packageName}/dist/index.js`, import.meta.url).href;
  const { getPostgreSQLEventStore } = await import(entry);
  const pool = new pg.Pool({ connectionString, max: 32 });
  pool.on("error", () => {});
  const store: Emmett = getPostgreSQLEventStore(connectionString, { connectionOptions: { pooled: true, pool } });
  await store.schema.migrate();
  return {
    store,
    async close() {
      await store.close();
      if (!pool.ended) await pool.end();
    },
  };
}

function install(): boolean {
  console.log(`Installing ${packageName} 0.42 into scripts/bench, once, to compare with …`);
  const npm = process.platform === "win32" ? "npm.cmd" : "npm";
  const { status, stderr } = spawnSync(npm, ["ci", "--no-audit", "--no-fund"], { cwd: folder, encoding: "utf8" });
  if (status !== 0)
    console.log(`The installation failed, so emmett is skipped: ${stderr?.trim().split("\n").at(-1) ?? "no npm"}`);
  return status === 0;
}
