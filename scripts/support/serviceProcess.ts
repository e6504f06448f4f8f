import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { commandArguments } from "./childProcess.ts";
import { freePort } from "./freePort.ts";

/** A parsed line of the service's log; a line that is not JSON has only `msg`. */
export type LogLine = { msg: string; level?: string; [field: string]: unknown };

/** The real service in its own process. */
export type ServiceProcess = {
  url: string;
  smtpPort: number;
  /** Key of the first workspace, at the first start on its database; undefined after that. */
  apiKey: string | undefined;
  pid: number;
  child: ChildProcess;
  logs: readonly LogLine[];
  /** Returns all output of the process, for reports. */
  output(): string;
  /** Resolves with the first matching log line, past or future; rejects if the process ends without one. */
  logged(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** Resolves with its exit code, or with the signal that ended it. */
  ended: Promise<number | NodeJS.Signals>;
  exitCode(): number | null;
  /** Sends a signal; resolves when the process has ended, but at once for SIGSTOP and SIGCONT. */
  kill(signal?: NodeJS.Signals): Promise<void>;
  /** Shuts it down in order. */
  stop(): Promise<void>;
};

/** The service ended, by `how`, before it was ready or before it logged the expected line. */
export class ServiceEnded extends Error {
  readonly how: number | NodeJS.Signals;
  constructor(how: number | NodeJS.Signals, output: string) {
    super(`the service ended (${how}):\n${output}`);
    this.how = how;
  }
}

/** Milliseconds: the start takes some 5 s of CPU, and a machine with forty other processes gives it one twentieth. */
const startsWithinMs = 300_000;

let startsAnother = true;

/** Forbids further starts: at the end of this process all services are stopped, and other code may still be starting some. */
export function startNoMore(): void {
  startsAnother = false;
}

type ProcessOptions = {
  /** Settings of the service; ports are added. */
  env: Record<string, string>;
  inherited: NodeJS.ProcessEnv;
  cwd: string;
  /** For Node itself. */
  flags?: readonly string[];
};

/** Starts the service on free ports and waits until it is ready. Throws ServiceEnded if it ends before that. */
export async function startProcess({ env, inherited, cwd, flags = [] }: ProcessOptions): Promise<ServiceProcess> {
  const [port, smtpPort] = [String(await freePort()), String(await freePort())];
  const program = commandArguments("start");
  if (!startsAnother) throw new Error("no service is started any more: this process ends");
  const child = spawn(process.execPath, [...flags, ...program], {
    cwd,
    env: { ...inherited, PORT: port, SMTP_IN_PORT: smtpPort, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "close").then(() => child.exitCode ?? child.signalCode!);
  const log = listen(child, ended);
  const kill = async (signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    if (signal !== "SIGSTOP" && signal !== "SIGCONT") await ended;
  };
  const hanging = setTimeout(() => void kill(), startsWithinMs);
  const ready = await log.logged(({ msg }) => msg === "ready").finally(() => clearTimeout(hanging));
  return {
    // By its IP address: a name would be resolved at each request.
    url: String(ready.url).replace("//localhost:", "//127.0.0.1:"),
    smtpPort: Number(ready.smtp_port),
    apiKey: ready.api_key as string | undefined,
    pid: child.pid!,
    child,
    ...log,
    ended,
    exitCode: () => child.exitCode,
    kill,
    stop: () => kill("SIGTERM"),
  };
}

function listen(
  child: ChildProcess,
  ended: Promise<number | NodeJS.Signals>,
): Pick<ServiceProcess, "logs" | "output" | "logged"> {
  const logs: LogLine[] = [];
  const waiting = new Set<() => void>();
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
        void ended.then((how) => reject(new ServiceEnded(how, output())));
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
