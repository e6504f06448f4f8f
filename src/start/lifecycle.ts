import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

export type LifecycleOptions = {
  logger: Logger;
  /**
   * Starts the service. If it throws, everything started so far is stopped and the error is rethrown. If shutdown is requested meanwhile,
   * the process exits within 5 s. `end` requests shutdown from within, now or later; process.exitCode then gives the result. `ending` is
   * aborted when shutdown is requested, so that nothing more is awaited.
   */
  start: (end: (reason: string) => void, ending: AbortSignal) => Promise<void>;
  /** Stops accepting work, waits for work in progress, and closes all connections. Called once. */
  drain: () => Promise<void>;
  /** Stops what must not be left running, even if draining was cut short or failed. Called once, after that. */
  lastly: () => Promise<void>;
  /** Milliseconds that draining may take (default 15,000). */
  drainMs?: number;
  /**
   * True if this process exits when its parent does. npm does not always forward a signal; but the parent of a service started by other
   * means (systemd, nohup, setsid) may well exit before it.
   */
  endWithParent: boolean;
};

/**
 * Starts, and shuts down in order, once: on SIGTERM, SIGINT and SIGHUP, and with its parent if requested. A second signal cuts the
 * draining short. Resolves when started; does not return if shutdown is requested before that.
 */
export async function runUntilStopped(options: LifecycleOptions): Promise<void> {
  const hurry = new AbortController();
  const ending = new AbortController();
  const { asked, ask } = untilAsked(options, hurry);
  void asked.then(() => ending.abort());
  const starting = options.start(ask, ending.signal);
  try {
    const reason = await Promise.race([starting, asked]);
    if (reason !== undefined) await giveUpStart(options, { starting, reason });
  } catch (error) {
    await stopInOrder(options, AbortSignal.any([hurry.signal, ending.signal]));
    throw error;
  }
  void asked
    .then((reason) => options.logger.info({ reason }, "stopping"))
    .then(() => stopInOrder(options, hurry.signal))
    .then((inOrder) => process.exit(inOrder ? process.exitCode : 1));
}

const sameWishMs = 500;

/** Resolves with the reason when shutdown is first requested; later signals abort `hurry`. */
function untilAsked({ endWithParent }: LifecycleOptions, hurry: AbortController) {
  let ask!: (reason: string) => void;
  const asked = new Promise<string>((resolve) => {
    ask = resolve;
  });
  let since: number | undefined;
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(name, () => {
      // npm forwards a Ctrl-C that the terminal has sent to us as well: the same request twice is not a second one.
      if (since !== undefined && performance.now() - since > sameWishMs) hurry.abort();
      since ??= performance.now();
      ask(name);
    });
  }
  if (endWithParent) whenParentEnds(() => ask("the parent process has ended"));
  return { asked, ask };
}

/** Stops everything started so far, whatever does not respond, and exits the process within 5 s, since every part has a time limit. */
async function giveUpStart(
  { logger, drain, lastly }: LifecycleOptions,
  { starting, reason }: { starting: Promise<void>; reason: string },
): Promise<never> {
  const atMost = (ms: number, work: Promise<void>) => Promise.race([work.catch(() => {}), sleep(ms)]);
  await atMost(1_000, starting);
  await atMost(1_500, drain());
  await atMost(1_500, lastly());
  logger.info({ reason }, "stopped before the service was ready");
  process.exit();
}

/** Returns false if something failed or was cut short. */
async function stopInOrder(
  { logger, drain, lastly, drainMs = 15_000 }: LifecycleOptions,
  hurry: AbortSignal,
): Promise<boolean> {
  let inOrder = true;
  const failed = (error: unknown): void => {
    inOrder = false;
    logger.error({ err: error }, "shutdown failed");
  };
  // Not AbortSignal.timeout: it neither keeps a process alive nor, behind AbortSignal.any, reliably fires.
  let bound: NodeJS.Timeout | undefined;
  const cut = new Promise<never>((_, reject) => {
    const cutShort = (): void => reject(new Error("shutdown timed out before everything was drained"));
    bound = setTimeout(cutShort, drainMs);
    if (hurry.aborted) cutShort();
    hurry.addEventListener("abort", cutShort);
  });
  await Promise.race([drain(), cut]).catch(failed);
  clearTimeout(bound);
  await lastly().catch(failed);
  logger.info("stopped");
  return inOrder;
}

const parentPollMs = 250;

/** Polls for a new parent process: the operating system gives an orphan another parent, without a signal. */
function whenParentEnds(tell: () => void): void {
  const starter = lineage();
  const poll = setInterval(() => {
    if (lineage() === starter) return;
    clearInterval(poll);
    tell();
  }, parentPollMs);
  poll.unref();
}

/** Returns our parent's id, and if that is a shell that npm put in between, npm's as well: the shell outlives an npm that is killed. */
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
