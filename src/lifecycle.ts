import { readFileSync } from "node:fs";
import type { Logger } from "pino";

export type LifecycleOptions = {
  logger: Logger;
  /** Takes no more work, finishes what is under way, closes what is open. Called once. */
  drain: () => Promise<void>;
  /** What must not be left running, also when draining was cut short or failed. Called once, after that. */
  lastly: () => Promise<void>;
  /** Milliseconds that draining may take (default 15,000). */
  drainMs?: number;
  /**
   * Whether the end of the process that started this one means ours. npm does not always pass a signal on; but whoever starts the service by
   * other means (systemd, nohup, setsid) may well end before it.
   */
  endWithParent: boolean;
};

/** Ends the process in order; only the first call counts. */
export type End = (reason: string, exitCode?: number) => void;

/**
 * Ends the process in order, once: on SIGTERM, SIGINT and SIGHUP, and with its parent where that is asked for. A second signal cuts the draining
 * short. Answers the way to ask for the same from within, for example when the service cannot go on.
 */
export function endInOrder(options: LifecycleOptions): End {
  const { logger, endWithParent } = options;
  const hurry = new AbortController();
  let endingSince: number | undefined;

  const end: End = (reason, exitCode = 0) => {
    if (endingSince !== undefined) return;
    endingSince = performance.now();
    logger.info({ reason }, "stopping");
    void stopInOrder(options, hurry.signal, exitCode).then(process.exit);
  };
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(signal, () => {
      // npm hands on a Ctrl-C that the terminal has sent to us as well: the same wish twice is not a second one.
      if (endingSince !== undefined && performance.now() - endingSince > sameWishMs) hurry.abort();
      end(signal);
    });
  }
  if (endWithParent) whenParentEnds(() => end("the process that started this one has ended"));
  return end;
}

const sameWishMs = 500;

async function stopInOrder(
  { logger, drain, lastly, drainMs = 15_000 }: LifecycleOptions,
  hurry: AbortSignal,
  exitCode: number,
): Promise<number> {
  let code = exitCode;
  const failed = (error: unknown): void => {
    logger.error({ err: error }, "stopping failed");
    code = 1;
  };
  const cutShort = AbortSignal.any([hurry, AbortSignal.timeout(drainMs)]);
  const cut = new Promise<void>((resolve) => {
    cutShort.addEventListener("abort", () => {
      logger.warn("draining was cut short");
      resolve();
    });
  });
  await Promise.race([drain().catch(failed), cut]);
  await lastly().catch(failed);
  logger.info("stopped");
  return code;
}

const parentPollMs = 250;

/** The operating system gives an orphan another parent; there is no signal for it. */
function whenParentEnds(tell: () => void): void {
  const starter = lineage();
  const poll = setInterval(() => {
    if (lineage() === starter) return;
    clearInterval(poll);
    tell();
  }, parentPollMs);
  poll.unref();
}

/** Our parent, and where that is a shell that npm put in between, npm as well: the shell outlives an npm that is killed. */
function lineage(): string {
  const parent = process.ppid;
  const [, name = "", grandparent = ""] = /^\d+ \((.*)\) \S (\d+)/.exec(statOf(parent)) ?? [];
  return /^(sh|dash|ash|bash|zsh)$/.test(name) ? `${parent} ${grandparent}` : String(parent);
}

function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return "";
  }
}
