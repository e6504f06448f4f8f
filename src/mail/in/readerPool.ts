import { fileURLToPath } from "node:url";
import { FixedQueue, Piscina } from "piscina";
import type { ReaderOutcome, ReaderTask } from "./readerThread.ts";
import { createTurns } from "./turns.ts";

/** A task for a thread: what readerThread.ts does under that name. `bytes` are copied for each try; the caller's are left alone. */
export type Job = ReaderTask extends infer Task ? (Task extends unknown ? Omit<Task, "job"> : never) : never;

export type JobOptions = {
  /** Whose mail it is: identities take turns. */
  turn: string;
  /** Goes before all others, and does not wait for the slow place: somebody waits on a connection for it. */
  urgent?: boolean;
  /** Drops it if it has not begun by then. */
  signal?: AbortSignal;
};

export type ReaderPool = {
  /**
   * Has a thread do the job. Throws ReadingFault for what the mail did to the reader or took too long for; any other error says nothing of
   * the mail: no thread can be started, or the pool is closed.
   */
  run<T>(job: Job, options: JobOptions): Promise<T>;
  /** What it has done since it was made. */
  counts(): ReaderCounts;
  /** Ends the threads; what is under way rejects. */
  close(): Promise<void>;
};

export type ReaderCounts = {
  /** Tries handed to a thread. */
  begun: number;
  /** First tries that were ended to wait for the slow place. */
  setBack: number;
  /** Jobs that were given up in the slow place. */
  givenUp: number;
  /** The most that were in the slow place at once. */
  slowAtOnce: number;
};

/** The limits of everything that reads strangers' mail: headers, bodies and signatures. */
export type ReaderLimits = {
  /** Started with the first job (default 2). */
  threads: number;
  /** Milliseconds of the first try (default 300). */
  firstTryMs: number;
  /** Milliseconds in the slow place (default 10,000). */
  slowMs: number;
  /** A mail above this goes to the slow place at once (default 4 MB): so one large mail is read at a time. */
  largeBytes: number;
  /** Megabytes of heap of a thread, the mail's own bytes not counted (default 256). */
  maxHeapMb: number;
};

const usual: ReaderLimits = {
  threads: 2,
  firstTryMs: 300,
  slowMs: 10_000,
  largeBytes: 4 * 1024 * 1024,
  maxHeapMb: 256,
};

/** The mail is at fault: what it did to the thread that read it, in words. */
export class ReadingFault extends Error {
  override readonly name = "ReadingFault";
}

type Task = {
  job: Job;
  options: JobOptions;
  resolve(result: unknown): void;
  reject(error: unknown): void;
};

type Run = { task: Task; slow: boolean; begunAt: number; timer?: NodeJS.Timeout; stop: AbortController };

/** It, and readerThread.ts behind it, export `readInThread`. */
const entry = fileURLToPath(new URL("./readerWorker.mjs", import.meta.url));

/**
 * Threads that read mail, in turns by identity. A job has a short first try. If that is over, it goes on in the slow place, or waits for it
 * if another one is there: so one thread is always free for what is quick. A thread that hangs or dies costs the job it held, and is
 * replaced.
 */
export function createReaderPool(limits: Partial<ReaderLimits & { entry: string }> = {}): ReaderPool {
  const { threads, firstTryMs, slowMs, largeBytes, maxHeapMb } = { ...usual, ...limits };
  const urgent = createTurns<Task>();
  const quick = createTurns<Task>();
  const slow = createTurns<Task>();
  const runs = new Map<number, Run>();
  const counts: ReaderCounts = { begun: 0, setBack: 0, givenUp: 0, slowAtOnce: 0 };
  let pool: Piscina | undefined;
  let closed = false;
  let jobs = 0;

  function start(): Piscina {
    const started = new Piscina({
      filename: limits.entry ?? entry,
      name: "readInThread",
      // As many at least as at most: a thread that died is replaced at once, also when no further mail comes.
      minThreads: threads,
      maxThreads: threads,
      execArgv: [],
      recordTiming: false,
      taskQueue: new FixedQueue(),
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
    });
    started.on("message", hasBegun);
    // A thread could not be started. What waits for it would wait forever; the next job starts a new one.
    return started.on("error", () => {
      if (pool === started) pool = undefined;
      void started.destroy();
    });
  }

  const slowRuns = (): number => [...runs.values()].filter((run) => run.slow).length;

  /** Neither the time in the queue nor the start of a thread is the mail's. */
  function hasBegun(job: number): void {
    const run = runs.get(job);
    if (!run) return;
    run.begunAt = performance.now();
    run.timer = run.slow ? setTimeout(() => run.stop.abort(), slowMs) : setTimeout(() => endFirstTry(run), firstTryMs);
  }

  function endFirstTry(run: Run): void {
    if (slowRuns() > 0) {
      run.stop.abort();
    } else {
      enterSlowPlace(run);
      run.timer = setTimeout(() => run.stop.abort(), slowMs - firstTryMs);
    }
  }

  function enterSlowPlace(run: Run): void {
    run.slow = true;
    counts.slowAtOnce = Math.max(counts.slowAtOnce, slowRuns());
  }

  /** The slow place is filled first: the other thread is left for what is quick. */
  function next(): { task: Task; inSlowPlace: boolean } | undefined {
    const hurried = urgent.next();
    if (hurried) return { task: hurried, inSlowPlace: false };
    const forSlowPlace = slowRuns() > 0 ? undefined : slow.next();
    if (forSlowPlace) return { task: forSlowPlace, inSlowPlace: true };
    for (let task = quick.next(); task; task = quick.next()) {
      if (!slow.waits(task.options.turn)) return { task, inSlowPlace: false };
      // Whose mail waits for the slow place has had a first try: what follows waits behind it.
      slow.add(task.options.turn, task);
    }
    return undefined;
  }

  function dispatch(): void {
    while (runs.size < threads && !closed) {
      const found = next();
      if (!found) return;
      if (found.task.options.signal?.aborted) found.task.reject(new ReadingFault("there was no time to read it"));
      else void carryOut(found.task, found.inSlowPlace);
    }
  }

  async function carryOut(task: Task, inSlowPlace: boolean): Promise<void> {
    const job = ++jobs;
    const run: Run = { task, slow: false, begunAt: performance.now(), stop: new AbortController() };
    runs.set(job, run);
    counts.begun += 1;
    if (inSlowPlace) enterSlowPlace(run);
    try {
      pool ??= start();
      const bytes = new Uint8Array(task.job.bytes);
      const message = { ...task.job, bytes, job } as ReaderTask;
      const outcome: ReaderOutcome = await pool.run(message, { transferList: [bytes.buffer], signal: run.stop.signal });
      if ("fault" in outcome) task.reject(new ReadingFault(outcome.fault));
      else task.resolve(outcome.done);
    } catch (error) {
      fail(run, error as NodeJS.ErrnoException);
    } finally {
      clearTimeout(run.timer);
      runs.delete(job);
      queueOf(run).charge(task.options.turn, performance.now() - run.begunAt);
      dispatch();
    }
  }

  const queueOf = ({ task, slow: inSlowPlace }: Run) => (task.options.urgent ? urgent : inSlowPlace ? slow : quick);

  /** What becomes of a job that was ended: it waits for the slow place, or it is given up. */
  function fail({ task, slow: inSlowPlace, stop, timer }: Run, error: NodeJS.ErrnoException): void {
    const { urgent: isUrgent, turn } = task.options;
    if (closed) {
      task.reject(closedError());
    } else if (!stop.signal.aborted) {
      const reason = faultOf(error);
      task.reject(timer === undefined || reason === undefined ? error : new ReadingFault(reason));
    } else if (inSlowPlace || isUrgent) {
      if (inSlowPlace) counts.givenUp += 1;
      task.reject(new ReadingFault(`reading took more than ${inSlowPlace ? slowMs : firstTryMs} ms`));
    } else {
      counts.setBack += 1;
      slow.add(turn, task);
    }
  }

  function enqueue(task: Task): void {
    const queue = task.options.urgent ? urgent : task.job.bytes.length > largeBytes ? slow : quick;
    queue.add(task.options.turn, task);
    dispatch();
  }

  return {
    run: <T>(job: Job, options: JobOptions) =>
      new Promise<T>((resolve, reject) => {
        if (closed) reject(closedError());
        else enqueue({ job, options, resolve: resolve as (result: unknown) => void, reject });
      }),
    counts: () => ({ ...counts }),
    async close() {
      closed = true;
      for (const queue of [urgent, quick, slow]) for (const task of queue.takeAll()) task.reject(closedError());
      await pool?.destroy();
    },
  };
}

const closedError = () => new Error("the readers of mail are closed");

/** What the mail did to its thread, or how reading it failed; undefined if the thread was ended by us. */
function faultOf(error: NodeJS.ErrnoException): string | undefined {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return "reading took too much memory";
  if (error.message.startsWith("worker exited")) return "the reader crashed";
  return error.message === "Terminating worker thread" ? undefined : error.message;
}
