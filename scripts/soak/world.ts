import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "#src/embeddedPostgres/embeddedPostgres.ts";
import type { DatabaseUrls } from "#src/postgres/database.ts";
import { type Beside, knownAddress, startBeside } from "#test/support/besideInProcess.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import type { SmtpRelay } from "#test/support/smtpRelay.ts";
import { type Client, createClient } from "../support/client.ts";
import { copyCluster } from "../support/cluster.ts";
import { type Instance, startInstance } from "../support/instance.ts";

/** Where an instance is, and its log. `child`: where it is a process of its own. */
export type Reached = Pick<Instance, "url" | "smtpPort" | "log" | "stop"> & Partial<Pick<Instance, "child">>;

/** A database, the service on it as often as wanted, and a look at the log past the service, with the owner's eyes. */
export type World = {
  env: Readonly<Record<string, string>>;
  /** Where mail leaves to; without one it is caught in the outbox. */
  relay: SmtpRelay | undefined;
  /** Starts one more instance with these settings on top. */
  start(settings?: Record<string, string>): Promise<Instance>;
  /** One that is asked and no more: in this process where `here` says so. Settings come on top in a process of its own alone. */
  reach(settings?: Record<string, string>): Promise<Reached>;
  client(instance: Reached): Client;
  /** What GET answers, byte for byte. */
  bytes(instance: Reached, path: string): Promise<{ status: number; bytes: Buffer }>;
  /** Reads as the owner of the tables. */
  rows<Row extends object>(sql: string, values?: unknown[]): Promise<Row[]>;
  /** The embedded server's postmaster; throws on a configured database. */
  postmaster(): Promise<number>;
  ownerUrl(): Promise<string>;
  /** Stops every instance and removes everything. */
  close(): Promise<void>;
};

type Surroundings = { embedded?: boolean; here?: boolean; relay?: SmtpRelay; on?: DatabaseUrls };

/** Short bounds, so that what an interrupted hand-over waits for comes within seconds. */
const shortBounds = {
  LOG_LEVEL: "info",
  DELIVERY_CONFIRM_SECONDS: "3",
  HAND_OVER_SECONDS: "2",
  SMTP_RETRY_SECONDS: "1,1",
  NOTIFY_THROTTLE_SECONDS: "0",
};

/** For instances of one world of which one may live in this process. */
export const sameSecrets = { SECRETS_KEYS: `soak:${Buffer.alloc(32, 5).toString("base64")}` };

/**
 * `here`: the service runs in this process, which costs a tenth of one of its own to start. For samples that neither kill it nor measure it.
 * `relay`: mail leaves by it. `on`: an empty database, instead of one on the server of all. Both are the caller's to close.
 */
export async function openWorld(
  settings: Record<string, string> = {},
  { embedded = false, here = false, relay, on }: Surroundings = {},
): Promise<World> {
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-soak-"));
  if (embedded) await copyCluster(dataDir);
  const made = embedded || on ? undefined : await createTestDatabase({ readModels: true });
  const database = made ?? on;
  const env = {
    ...shortBounds,
    DATA_DIR: dataDir,
    // Ends with this process, whatever becomes of it.
    npm_lifecycle_event: "soak",
    ...(relay && { MAIL_PROVIDER: "smtp", SMTP_URL: relay.url }),
    ...(database && { DATABASE_URL: database.serviceUrl, DATABASE_OWNER_URL: database.ownerUrl }),
    ...settings,
  };
  const instances: Instance[] = [];
  const inProcess: Beside[] = [];
  let apiKey: string | undefined;
  let pool: pg.Pool | undefined;
  let directory: string | undefined;

  /** The server that runs now; it is not ours to stop. */
  async function server(): Promise<EmbeddedPostgres> {
    const found = await startEmbeddedPostgres({ dataDir, logger: pino({ level: "silent" }), beside: true });
    directory = found.directory;
    return found;
  }
  const ownerUrl = async () => database?.ownerUrl ?? (await server()).ownerUrl;

  async function start(more: Record<string, string> = {}): Promise<Instance> {
    const instance = await startInstance({ ...env, ...more });
    instances.push(instance);
    apiKey ??= instance.apiKey;
    return instance;
  }

  return {
    env,
    relay,
    start,
    async reach(more) {
      if (!here || !database) return start(more);
      const log: string[] = [];
      const settingsHere = { ...env, ...(await knownAddress()), LOG_LEVEL: "error" };
      const beside = await startBeside(database, settingsHere, (line) => log.push(line));
      inProcess.push(beside);
      apiKey ??= beside.apiKey;
      return { ...beside, log };
    },
    client: (instance) => createClient({ ...instance, apiKey: apiKey as string }),
    async bytes({ url }, path) {
      const response = await fetch(url + path, { headers: { authorization: `Bearer ${apiKey}` } });
      return { status: response.status, bytes: Buffer.from(await response.arrayBuffer()) };
    },
    async rows(sql, values) {
      if (!pool) {
        pool = new pg.Pool({ connectionString: await ownerUrl(), options: "-c countersign.workspace=*", max: 2 });
        pool.on("error", () => {});
      }
      return (await pool.query(sql, values)).rows;
    },
    async postmaster() {
      return (await server()).pid();
    },
    ownerUrl,
    async close() {
      await pool?.end();
      for (const { child } of instances) child.kill("SIGCONT");
      await Promise.all(inProcess.map((beside) => beside.stop()));
      await Promise.all(instances.filter(({ child }) => isAlive(child)).map((instance) => instance.stop()));
      await made?.drop();
      for (const path of [dataDir, directory]) if (path) await rm(path, { recursive: true, force: true });
    },
  };
}

const isAlive = ({ exitCode, signalCode }: { exitCode: number | null; signalCode: string | null }): boolean =>
  exitCode === null && signalCode === null;
