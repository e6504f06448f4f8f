import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { DatabaseUrls } from "#src/postgres/database.ts";
import { type Client, createClient, until } from "../support/client.ts";
import { startInstance } from "../support/instance.ts";
import { residentMegabytes } from "../support/memory.ts";
import { cpuSeconds } from "./cpu.ts";
import { progress, sideBySide } from "./measure.ts";
import type { BenchServer } from "./server.ts";
import { openSmtpSender } from "./smtpSender.ts";

/** A whole service as a process of its own, on a database of its own on the benchmark's server. */
export type BenchInstance = {
  client: Client;
  smtpPort: number;
  urls: DatabaseUrls;
  /** One number out of its database. */
  count(sql: string): Promise<number>;
  /** The resident memory of the process in MB, now. Undefined if the system does not say. */
  memory(): number | undefined;
  /** CPU seconds used so far: by the service, by PostgreSQL, and by the event store's stand-in. */
  cpu(): Cpu;
  stop(): Promise<void>;
};

export type Cpu = { service: number; postgres: number; eventStore?: number };

export async function startBenchInstance(server: BenchServer): Promise<BenchInstance> {
  const urls = await server.database({ migrated: false });
  const dataDir = await mkdtemp(join(tmpdir(), "countersign-bench-"));
  const instance = await startInstance(
    {
      DATA_DIR: dataDir,
      DATABASE_URL: urls.serviceUrl,
      DATABASE_OWNER_URL: urls.ownerUrl,
      LOG_LEVEL: "info",
      NOTIFY_THROTTLE_SECONDS: "0",
      ...(server.eventStore && { EVENT_STORE_URL: server.eventStore.url }),
    },
    server.profileInto === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${server.profileInto}`],
  );
  const pool = new pg.Pool({ connectionString: urls.ownerUrl, options: "-c countersign.workspace=*", max: 1 });
  pool.on("error", () => {});
  const stop = async (): Promise<void> => {
    await pool.end();
    await instance.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  server.beforeEnd(stop);
  return {
    client: createClient({ ...instance, apiKey: instance.apiKey! }),
    smtpPort: instance.smtpPort,
    urls,
    count: async (sql) => Number((await pool.query(sql)).rows[0].count),
    memory: () => residentMegabytes(instance.child.pid!)?.now,
    cpu: () => ({
      service: cpuSeconds(instance.child.pid!),
      postgres: cpuSeconds(server.pid(), { children: true }),
      ...(server.eventStore?.pid && { eventStore: cpuSeconds(server.eventStore.pid) }),
    }),
    stop: () => server.endEarly(stop),
  };
}

/** What `work` took, in seconds and in milliseconds of CPU for each of the `count` it did. */
export async function timed(
  { cpu }: Pick<BenchInstance, "cpu">,
  work: () => Promise<number>,
): Promise<{ rate: number; cpu: Cpu }> {
  const before = cpu();
  const began = performance.now();
  const count = await work();
  const rate = (count / (performance.now() - began)) * 1_000;
  const after = cpu();
  const each = (part: keyof Cpu): number => (((after[part] ?? 0) - (before[part] ?? 0)) / count) * 1_000;
  return {
    rate,
    cpu: {
      service: each("service"),
      postgres: each("postgres"),
      ...(after.eventStore !== undefined && { eventStore: each("eventStore") }),
    },
  };
}

export const smtpConnections = 8;

/** Hands raw mails over by eight connections, in turns to these addresses; resolves when all were answered 250. */
export async function sendAll(port: number, mails: readonly Buffer[], recipients: readonly string[]): Promise<void> {
  let taken = 0;
  let sent = 0;
  await sideBySide(smtpConnections, async () => {
    const sender = await openSmtpSender(port);
    try {
      while (taken < mails.length) {
        const index = taken++;
        const to = recipients[index % recipients.length]!;
        await sender.send(mails[index]!, { from: "customer@customer.example", to });
        if (++sent % 500 === 0) progress(`${sent} of ${mails.length} mails taken`);
      }
    } finally {
      sender.close();
    }
  });
}

/** How many mails are in their threads and can be read there. */
export const filed = (instance: BenchInstance): Promise<number> =>
  instance.count("select count(*) from read.inbound where filed_position is not null or disposition = 'duplicate'");

/** Waits until so many are. */
export const untilFiled = (instance: BenchInstance, count: number): Promise<true> =>
  until(`${count} mails filed`, async () => (await filed(instance)) >= count, 300_000).then(() => true);
