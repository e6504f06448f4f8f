import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Client, createClient, until } from "../support/client.ts";
import { startInstance } from "../support/instance.ts";
import type { BenchDatabase, BenchServer, Subject } from "./bench.ts";

/** A service, started as the image starts it, in a process of its own. */
export type Service = Subject & { client: Client; url: string; smtpPort: number };

/** Starts a service on a database. `apiKey`: that of a workspace in it; by default the one that the first start makes. */
export async function startService(
  server: BenchServer,
  database: BenchDatabase,
  { apiKey, ...settings }: Record<string, string> = {},
): Promise<Service> {
  const starting = startInstance({
    ...settingsOn(server, database),
    ...{ LOG_LEVEL: "info", NOTIFY_THROTTLE_SECONDS: "0", RATE_LIMIT_CONSOLE: "off", ...settings },
  });
  server.atEnd(async () => (await starting.catch(() => undefined))?.stop());
  const instance = await starting;
  const client = createClient({ ...instance, apiKey: apiKey ?? instance.apiKey! });
  return { database, client, url: instance.url, smtpPort: instance.smtpPort, pid: instance.child.pid! };
}

/** Runs a command of the operator on the service's database. `words`: what Node is given. Returns its standard output. */
export async function runCommand(
  server: BenchServer,
  database: BenchDatabase,
  words: readonly string[],
): Promise<string> {
  const env = { ...process.env, ...settingsOn(server, database) };
  const running = promisify(execFile)(process.execPath, words, { env });
  server.atEnd(async () => {
    running.child.kill();
    await running.catch(() => undefined);
  });
  return (await running).stdout;
}

const settingsOn = ({ directory }: BenchServer, { serviceUrl, ownerUrl }: BenchDatabase) => ({
  ...{ DATA_DIR: join(directory, "service"), DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: ownerUrl },
});

const patienceMs = 300_000;

/** Waits until a query returns at least so much. */
export const untilAtLeast = (database: BenchDatabase, count: number, sql: string): Promise<boolean> =>
  until(`${count} of: ${sql}`, async () => (await database.number(sql)) >= count, patienceMs);
