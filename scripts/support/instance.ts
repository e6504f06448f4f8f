import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { nodeArguments } from "./childProcess.ts";
import { freePort } from "./freePort.ts";

/** A service of its own, as a child process: what tests, the demo and the soak drive, and kill. */
export type Instance = {
  url: string;
  smtpPort: number;
  /** On the very first start of a development install. */
  apiKey: string | undefined;
  child: ChildProcess;
  /** The log so far, one line each. */
  log: string[];
  /** SIGTERM, and waits for its end. */
  stop(): Promise<void>;
  /** Any signal; resolves when the process is gone (SIGKILL, SIGTERM) or at once (SIGSTOP, SIGCONT). */
  kill(signal: NodeJS.Signals): Promise<void>;
};

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Some 5 s of CPU, of which a machine with forty others at work gives it one in twenty. */
const startsWithinMs = 300_000;

/** As `npm start` and the image start it. */
export const serviceFlags = ["--max-semi-space-size=8"];
/** As the image has it. */
export const serviceEnvironment = {
  MALLOC_ARENA_MAX: "2",
  MALLOC_MMAP_THRESHOLD_: "262144",
  MALLOC_TRIM_THRESHOLD_: "2097152",
};

/** A start that ended before it was ready. `signal`: what ended it, null where it ended itself. */
export class EndedEarly extends Error {
  readonly signal: NodeJS.Signals | null;
  constructor(signal: NodeJS.Signals | null, log: readonly string[]) {
    super(`the service ended${signal ? ` by ${signal}` : ""}:\n${log.slice(-20).join("\n")}`);
    this.signal = signal;
  }
}

let startsAnother = true;

/** From now on this process starts no instance: for who stops everything, in the middle of what goes on starting them. */
export function startNoMore(): void {
  startsAnother = false;
}

/**
 * Starts an instance on free ports and waits for its `ready` line. `flags`: for Node itself. Throws with the end of its log if it does not
 * come up, EndedEarly where it ended.
 */
export async function startInstance(
  environment: Record<string, string>,
  flags: readonly string[] = [],
): Promise<Instance> {
  const [port, smtpPort] = await Promise.all([freePort(), freePort()]);
  const program = await nodeArguments("src/main.ts");
  if (!startsAnother) throw new Error("no instance is started any more: this process ends");
  const child = spawn(process.execPath, [...serviceFlags, ...flags, ...program], {
    cwd: root,
    env: {
      ...serviceEnvironment,
      ...process.env,
      npm_lifecycle_event: "",
      PORT: String(port),
      PUBLIC_URL: `http://127.0.0.1:${port}`,
      SMTP_IN_PORT: String(smtpPort),
      // Nobody answers there: nothing of what these drive asks an outside host.
      DNS_SERVERS: "127.0.0.1:9",
      RATE_LIMIT_READ: "off",
      SERVICE_MAIL_PER_HOUR: "off",
      RATE_LIMIT_WRITE: "off",
      RATE_LIMIT_SEND: "off",
      RATE_LIMIT_NOTIFY: "off",
      RATE_LIMIT_TEST_EMAIL: "off",
      RATE_LIMIT_BAD_KEY: "off",
      ...environment,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const log: string[] = [];
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  createInterface({ input: child.stderr }).on("line", (line) => log.push(line));
  const ready = await new Promise<any>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no ready line:\n${log.slice(-20).join("\n")}`)), startsWithinMs);
    createInterface({ input: child.stdout }).on("line", (line) => {
      log.push(line);
      if (!line.includes('"msg":"ready"')) return;
      clearTimeout(timer);
      resolve(JSON.parse(line));
    });
    void ended.then(() => reject(new EndedEarly(child.signalCode, log)));
  });
  return {
    url: ready.url,
    smtpPort: ready.smtp_port ?? 0,
    apiKey: ready.api_key,
    child,
    log,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
    async kill(signal) {
      child.kill(signal);
      if (signal === "SIGKILL" || signal === "SIGTERM") await ended;
    },
  };
}
