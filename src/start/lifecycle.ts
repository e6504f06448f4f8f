import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";

export type LifecycleOptions = {
  logger: Logger;
  /**
   * If it throws, what it had started is stopped and the error is rethrown. If the end is asked for meanwhile, the process ends within 5 s.
   * `end` asks for the end from within, now or later; process.exitCode then says how it went. `ending` is aborted when the end is asked for, so
   * that nothing is waited for then.
   */
  start: (end: (reason: string) => void, ending: AbortSignal) => Promise<void>;
  /** Takes no more work, finishes what is under way, closes what is open. Called once. */
  drain: () => Promise<void>;
  /** Ends what must not be left running, also when draining was cut short or failed. Called once, after that. */
  lastly: () => Promise<void>;
  /** Milliseconds that draining may take (default 15,000). */
  drainMs?: number;
  /**
   * Whether the end of the process that started this one means ours. npm does not always pass a signal on; but a person who starts the service by
   * other means (systemd, nohup, setsid) may well end before it.
   */
  endWithParent: boolean;
};

/**
 * Starts, and ends the process in order, once: on SIGTERM, SIGINT and SIGHUP, and with its parent if that is asked for. A second signal
 * cuts the draining short. Resolves when started; does not return if the end is asked for before that.
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

/** Resolves with the reason when the end is first asked for; signals after that abort `hurry`. */
function untilAsked({ endWithParent }: LifecycleOptions, hurry: AbortController) {
  let ask!: (reason: string) => void;
  const asked = new Promise<string>((resolve) => {
    ask = resolve;
  });
  let since: number | undefined;
  for (const name of ["SIGTERM", "SIGINT", "SIGHUP"] as const) {
    process.on(name, () => {
      // npm hands on a Ctrl-C that the terminal has sent to us as well: the same wish twice is not a second one.
      if (since !== undefined && performance.now() - since > sameWishMs) hurry.abort();
      since ??= performance.now();
      ask(name);
    });
  }
  if (endWithParent) whenParentEnds(() => ask("the parent process has ended"));
  return { asked, ask };
}

/** Stops what a start has reached, whatever does not answer, and ends the process: within 5 s, since every part has its bound. */
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

/** False if something failed or was cut short on the way. */
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

/** Our parent, and if that is a shell that npm put in between, npm as well: the shell outlives an npm that is killed. */
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
