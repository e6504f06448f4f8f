import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { nodeArguments } from "../../scripts/support/childProcess.ts";
import { copyCluster } from "../../scripts/support/cluster.ts";
import { freePort } from "../../scripts/support/freePort.ts";
import { createTestDatabase, type TestDatabase } from "./postgres.ts";

/** What the service logs, one parsed line each; lines that are no JSON have `msg` alone. */
export type LogLine = { msg: string; level?: number; [field: string]: unknown };

/** The real service in a process of its own. */
export type TestService = {
  url: string;
  smtpPort: number;
  /** Of the first start on its database; undefined after that. */
  apiKey: string | undefined;
  pid: number;
  dataDir: string;
  database: TestDatabase | undefined;
  logs: readonly LogLine[];
  /** Everything it wrote, for reporting. */
  output(): string;
  /** Resolves with the first log line that fits, also one that was there already; rejects where the process ends without it. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Sends a signal; resolves when the process has ended, but for SIGSTOP and SIGCONT. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  exitCode(): number | null;
  /** Ends it in order, and removes what `startService` made for it. */
  stop(): Promise<void>;
};

export type ServiceOptions = {
  /** Settings beside those that this sets: ports, DATA_DIR, DATABASE_URL. An empty one unsets. */
  env?: Record<string, string>;
  /** A database that stays the caller's; "embedded" lets the service start its own. Default: a new test database. */
  database?: TestDatabase | "embedded";
  /** A directory that stays the caller's. Default: a new temporary one. */
  dataDir?: string;
};

/** Starts the service and waits until it is ready. Rejects with what it wrote where it ends before that. */
export async function startService(options: ServiceOptions = {}): Promise<TestService> {
  const ownDatabase = options.database ? undefined : await createTestDatabase({ readModels: true });
  const database = options.database === "embedded" ? undefined : (options.database ?? ownDatabase);
  const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), "countersign-service-")));
  if (options.database === "embedded") await copyCluster(dataDir);
  const child = spawn(process.execPath, await nodeArguments("src/main.ts"), {
    // Elsewhere, so that nobody's `.env` is read.
    cwd: tmpdir(),
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH: process.env.PATH,
      // Ends with the tests, whatever becomes of them.
      npm_lifecycle_event: "test",
      LOG_LEVEL: "info",
      PORT: String(await freePort()),
      SMTP_IN_PORT: String(await freePort()),
      DATA_DIR: dataDir,
      // Nobody answers there: no test asks an outside host.
      DNS_SERVERS: "127.0.0.1:9",
      TELEGRAM_API_ROOT: "http://127.0.0.1:9",
      ...(database && { DATABASE_URL: database.serviceUrl, DATABASE_OWNER_URL: database.ownerUrl }),
      ...options.env,
    },
  });
  const said = listen(child);
  const removeOwn = async (): Promise<void> => {
    await ownDatabase?.drop();
    if (!options.dataDir) await rm(dataDir, { recursive: true, force: true });
  };
  const kill = async (signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    if (signal !== "SIGSTOP" && signal !== "SIGCONT") await once(child, "exit");
  };
  const ready = await said
    .logged(({ msg }) => msg === "ready")
    .catch(async (error) => {
      await removeOwn();
      throw error;
    });
  return {
    url: String(ready.url),
    smtpPort: Number(ready.smtp_port),
    apiKey: ready.api_key as string | undefined,
    pid: child.pid!,
    dataDir,
    database,
    ...said,
    kill,
    exitCode: () => child.exitCode,
    async stop() {
      await kill("SIGTERM");
      await removeOwn();
    },
  };
}

function listen(child: ChildProcess): Pick<TestService, "logs" | "output" | "logged"> {
  const logs: LogLine[] = [];
  const waiting = new Set<() => void>();
  const ended = once(child, "close");
  for (const stream of [child.stdout!, child.stderr!])
    createInterface(stream).on("line", (line) => {
      logs.push(parsed(line));
      for (const look of waiting) look();
    });
  const output = (): string => logs.map((line) => JSON.stringify(line)).join("\n");
  return {
    logs,
    output,
    logged: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const line = logs.find(fits);
          if (!line) return;
          waiting.delete(look);
          resolve(line);
        };
        waiting.add(look);
        look();
        void ended.then(() =>
          reject(new Error(`the service ended (${child.exitCode ?? child.signalCode}):\n${output()}`)),
        );
      }),
  };
}

function parsed(line: string): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    return { msg: line };
  }
}
