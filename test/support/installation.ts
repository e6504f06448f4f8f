import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { pino } from "pino";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { compose } from "#src/compose.ts";
import type { Clock } from "#src/platform/clock.ts";
import { prepareDirectories } from "#src/platform/embeddedPostgres/directories.ts";
import { startEmbeddedPostgres } from "#src/platform/embeddedPostgres/embeddedPostgres.ts";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";
import { loadConfig } from "#src/settings/config.ts";
import { createTestDatabase } from "./postgres.ts";
import { knownAddress, type SecondInstance, startSecondInstance } from "./secondInstance.ts";
import { startService, type TestService } from "./service.ts";
import { settingsOn, testSettings } from "./settings.ts";
import { type RelayFault, type RelayOptions, startSmtpRelay } from "./smtpRelay.ts";

/** One installation: a database, a relay that accepts its mail, and the instances started on it. */
export type Installation = Awaited<ReturnType<typeof openInstallation>>;

/** An instance of the service, in its own process or in this one. */
export type RunningInstance = Pick<TestService, "url" | "smtpPort" | "stop"> & Partial<TestService>;

type InstallationOptions = {
  env?: Record<string, string>;
  /** A database that the caller keeps; "embedded" lets the service start its own. Default: a new test database. */
  database?: DatabaseUrls | "embedded";
  /** Lets `run` start the service in this process, at a tenth of the cost: for tests that neither kill nor measure it. */
  here?: boolean;
  relay?: RelayOptions & { faults?: RelayFault[] };
};

/** Short time limits, so that interrupted work is resumed within seconds. */
const shortBounds = {
  DELIVERY_CONFIRM_SECONDS: "3",
  HAND_OVER_SECONDS: "2",
  SMTP_RETRY_SECONDS: "1,1",
  NOTIFY_THROTTLE_SECONDS: "0",
};

/** The proofs have one customer, who asks and is answered by key without end. */
const withoutLoopLimit = { AUTO_ANSWERS_PER_ADDRESS: "off" };

export async function openInstallation({
  env = {},
  database: given,
  here = false,
  relay = {},
}: InstallationOptions = {}) {
  const { faults, ...options } = relay;
  const smtpRelay = await startSmtpRelay(faults, options);
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-installation-"));
  const own = given === undefined ? await createTestDatabase({ readModels: true }) : undefined;
  const configured = given === "embedded" ? undefined : (given ?? own);
  const settings = {
    ...testSettings,
    ...shortBounds,
    ...withoutLoopLimit,
    MAIL_PROVIDER: "smtp",
    SMTP_URL: smtpRelay.url,
    ...env,
  };
  const processes: TestService[] = [];
  const inProcess: SecondInstance[] = [];
  let pool: pg.Pool | undefined;

  /** Returns the URLs; an embedded database exists once the service has started it. */
  const urls = async (): Promise<DatabaseUrls> =>
    configured ?? startEmbeddedPostgres({ dataDir, logger: pino({ level: "silent" }), beside: true });

  /** Starts one more instance, in its own process. */
  async function start(more: Record<string, string> = {}): Promise<TestService> {
    const service = await startService({ env: { ...settings, ...more }, database: configured ?? "embedded", dataDir });
    processes.push(service);
    return service;
  }

  return {
    relay: smtpRelay,
    dataDir,
    urls,
    start,
    /** Starts one more instance, in this process if the installation is `here`, or the instance gets a `clock`. */
    async run(more: Record<string, string> = {}, clock?: Clock): Promise<RunningInstance> {
      if (!(here || clock) || !configured) return start(more);
      const level = { LOG_LEVEL: "error" };
      const environment = { ...settings, ...more, DATA_DIR: dataDir, ...(await knownAddress()), ...level };
      const beside = await startSecondInstance(configured, environment, clock && { clock });
      inProcess.push(beside);
      const { url, smtpPort, stop } = beside;
      return { url, smtpPort, stop };
    },
    /** Lets `work` give commands on its database directly, without an instance. */
    async withCommands<T>(work: (deps: Dependencies) => Promise<T>): Promise<T> {
      const database = await urls();
      const logger = pino({ level: "silent" });
      const { deps, close } = compose(loadConfig(settingsOn(database)), database, { logger });
      return work(deps).finally(close);
    },
    /** Reads rows of every workspace, as the owner of the tables. */
    async rows<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
      if (!pool) {
        const { ownerUrl } = await urls();
        pool = new pg.Pool({ connectionString: ownerUrl, options: "-c countersign.workspace=*", max: 2 });
        pool.on("error", () => {});
      }
      return (await pool.query(sql, values)).rows;
    },
    /** Stops every instance and removes everything except the caller's database. */
    async close(): Promise<void> {
      await pool?.end();
      await Promise.all(inProcess.map((beside) => beside.stop()));
      for (const service of processes) await service.kill("SIGCONT");
      await Promise.all(processes.map((service) => service.stop()));
      await smtpRelay.close();
      await own?.drop();
      if (given === "embedded")
        await rm((await prepareDirectories(dataDir)).directory, { recursive: true, force: true });
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
