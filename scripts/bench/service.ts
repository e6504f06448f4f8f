import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Client, createClient, until } from "../support/client.ts";
import { startInstance } from "../support/instance.ts";
import { type BenchDatabase, type BenchServer, progress, type Subject } from "./bench.ts";

/** A service in its own process, started as the image starts it. */
export type Service = Subject & { client: Client; url: string; smtpPort: number };

/**
 * Starts a service on a database. `apiKey`: of a workspace in it; by default the key made at the first start, or that of a new workspace
 * if the log has earlier ones.
 */
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
  const client = createClient({ ...instance, apiKey: apiKey ?? instance.apiKey ?? (await newKey(server, database)) });
  return { database, client, url: instance.url, smtpPort: instance.smtpPort, pid: instance.child.pid! };
}

/** Runs an operator's command on the service's database. `words`: the arguments of Node. Returns its standard output. */
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

async function newKey(server: BenchServer, database: BenchDatabase): Promise<string> {
  const words = ["scripts/workspace.ts", "create", "--name", "Benchmark", "--plan", "agency", "--beta"];
  return JSON.parse(await runCommand(server, database, ["--import", "tsx", ...words])).api_key;
}

const settingsOn = ({ directory }: BenchServer, { serviceUrl, ownerUrl }: BenchDatabase) => ({
  ...{ DATA_DIR: join(directory, "service"), DATABASE_URL: serviceUrl, DATABASE_OWNER_URL: ownerUrl },
});

const patienceMs = 300_000;

/** Waits until a query returns at least this number: five minutes, and longer for more than 300,000 (a millisecond for each). */
export const untilAtLeast = (database: BenchDatabase, count: number, sql: string): Promise<boolean> =>
  until(`${count} of: ${sql}`, async () => (await database.number(sql)) >= count, Math.max(patienceMs, count));

/** Counts checkpoints and processes that have not reached the newest event that is projected, and jobs that are ready or running. */
const unfinished = `with reached as (select max(position) as position from work.checkpoints)
  select (select count(*) from work.checkpoints, reached where checkpoints.position < reached.position)
    + (select count(*) from work.planned, reached where planned < reached.position)
    + (select count(*) from work.lanes where state in ('ready', 'claimed'))`;

/** Waits until the service has nothing left to do about the events in its log. */
export const untilIdle = (database: BenchDatabase): Promise<boolean> =>
  until("the service to be idle", async () => (await database.number(unfinished)) === 0, patienceMs);

/**
 * Waits until the service has processed the events that its log holds from earlier runs, and shows the progress: that work would
 * otherwise count as the benchmark's.
 */
export async function untilCaughtUp({ database, url }: Pick<Service, "database" | "url">): Promise<void> {
  await until(
    "the service to catch up with its log",
    async () => {
      if (!(await fetch(`${url}/readyz`)).ok) return say("the service is catching up with its log");
      const left = await database.number(unfinished);
      return left === 0 || say(`the service is working on earlier events of its log: ${left} left`);
    },
    patienceMs,
  );
}

function say(text: string): false {
  progress(text);
  return false;
}
