import { fileURLToPath } from "node:url";
import { FixedQueue, Piscina } from "piscina";
import { createFairQueue } from "./fairQueue.ts";
import { TaskFault, ThreadsAway, WaitedTooLong } from "./faults.ts";
import { createSlowTime } from "./slowTime.ts";
import type { TaskOutcome, ThreadTask } from "./thread.ts";

/** A task for a thread: what thread.ts does under that name. `bytes` are copied for each try; the caller's are left alone. */
export type Job = ThreadTask extends infer Task ? (Task extends unknown ? Omit<Task, "job"> : never) : never;

export type JobOptions = {
  /** Owner of the work: an identity for mail, a workspace for requests. Owners take turns. */
  turn: string;
  /** The job is known to take long: it goes to the slow place at once, as a large mail does. */
  slow?: boolean;
  /** Milliseconds that it waits for a thread at most; without it as long as it takes. */
  waitMs?: number;
};

export type ThreadPool = {
  /**
   * Has a thread do the job. Throws TaskFault for what the job did to its thread or took too long for, WaitedTooLong where its turn did not
   * come within `waitMs`, and ThreadsAway where no thread can be started, or the pool is closed.
   */
  run<T>(job: Job, options: JobOptions): Promise<T>;
  /** What it has done since it was made. */
  counts(): PoolCounts;
  /** Ends the threads; what is under way rejects. */
  close(): Promise<void>;
};

export type PoolCounts = {
  /** Tries handed to a thread. */
  begun: number;
  /** First tries that were ended to wait for the slow place. */
  setBack: number;
  /** Jobs that were given up: in the slow place, or after the first try where whose they are had had its time there. */
  givenUp: number;
  /** The most that were in the slow place at once. */
  slowAtOnce: number;
};

/** The limits of what is done in threads: strangers' mail read, and costly work of requests and processes (costlyWork.ts). */
export type ThreadLimits = {
  /** Started with the first job (default 2). */
  threads: number;
  /** Milliseconds of the first try (default 300). */
  firstTryMs: number;
  /** Milliseconds in the slow place (default 10,000). */
  slowMs: number;
  /** Milliseconds beyond the first tries that slow jobs of one turn may take in a minute (default 20,000). */
  slowPerMinuteMs: number;
  /** A mail above this goes to the slow place at once (default 4 MB): so one large mail is read at a time. */
  largeBytes: number;
  /** Megabytes of heap of a thread, the mail's own bytes not counted (default 256). */
  maxHeapMb: number;
};

const usual: ThreadLimits = {
  threads: 2,
  firstTryMs: 300,
  slowMs: 10_000,
  slowPerMinuteMs: 20_000,
  largeBytes: 4 * 1024 * 1024,
  maxHeapMb: 256,
};

type Task = {
  job: Job;
  options: JobOptions;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Runs while it waits for a thread, if it waits for so long only. */
  waiting?: NodeJS.Timeout;
};

type Run = {
  task: Task;
  slow: boolean;
  begunAt: number;
  timer?: NodeJS.Timeout;
  stop: AbortController;
  /** Set where nothing follows when it is ended: after how many milliseconds that is. */
  lastsMs?: number;
};

/** Megabytes of a thread's heap for what is new: three halves of it are what is worked on right now. V8 would take 48, and keep most of them. */
const youngMb = 12;

/** It, and thread.ts behind it, export `doTask`. */
const entry = fileURLToPath(new URL("./threadWorker.mjs", import.meta.url));

/**
 * Threads for what would hold up the event loop, in turns. A job has a short first try. If that is over, it goes on in the slow place, or waits for it
 * if another one is there: so one thread is always free for what is quick. Whose jobs have had their time in the slow place waits for no more
 * of them this minute: a stranger cannot hold up for long whom he writes to. A thread that hangs or dies costs the job it held, and is replaced.
 */
export function createThreadPool(limits: Partial<ThreadLimits & { entry: string }> = {}): ThreadPool {
  const { threads, firstTryMs, slowMs, slowPerMinuteMs, largeBytes, maxHeapMb } = { ...usual, ...limits };
  const quick = createFairQueue<Task>();
  const slow = createFairQueue<Task>();
  const slowTime = createSlowTime(slowPerMinuteMs);
  const runs = new Map<number, Run>();
  const counts: PoolCounts = { begun: 0, setBack: 0, givenUp: 0, slowAtOnce: 0 };
  let pool: Piscina | undefined;
  let closed = false;
  let jobs = 0;

  function start(): Piscina {
    const started = new Piscina({
      filename: limits.entry ?? entry,
      name: "doTask",
      // As many at least as at most: a thread that died is replaced at once, also when no further job comes.
      minThreads: threads,
      maxThreads: threads,
      execArgv: [],
      recordTiming: false,
      taskQueue: new FixedQueue(),
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: youngMb },
    });
    started.on("message", hasBegun);
    // A thread could not be started. What waits for it would wait forever; the next job starts a new one.
    return started.on("error", () => {
      if (pool === started) pool = undefined;
      void started.destroy();
    });
  }

  const slowRuns = (): number => [...runs.values()].filter((run) => run.slow).length;

  /** Neither the time in the queue nor the start of a thread is the job's. */
  function hasBegun(job: number): void {
    const run = runs.get(job);
    if (!run) return;
    run.begunAt = performance.now();
    if (run.slow) endAfter(run, isSpent(run) ? shortMs(run.task.job) : slowMs);
    else run.timer = setTimeout(() => endFirstTry(run), firstTryMs);
  }

  const isSpent = ({ task }: Run): boolean => slowTime.isSpent(task.options.turn);

  /** Milliseconds for a job whose owner has used up its time in the slow place: a large mail takes longer than others without being slow. */
  const shortMs = ({ bytes }: Job): number => firstTryMs * (1 + Math.floor(bytes.length / largeBytes));

  function endAfter(run: Run, lastsMs: number): void {
    run.lastsMs = lastsMs;
    run.timer = setTimeout(() => run.stop.abort(), lastsMs - (performance.now() - run.begunAt));
  }

  function endFirstTry(run: Run): void {
    if (isSpent(run)) {
      endAfter(run, firstTryMs);
    } else if (slowRuns() > 0) {
      run.stop.abort();
    } else {
      enterSlowPlace(run);
      endAfter(run, slowMs);
    }
  }

  function enterSlowPlace(run: Run): void {
    run.slow = true;
    counts.slowAtOnce = Math.max(counts.slowAtOnce, slowRuns());
  }

  /** The slow place is filled first: the other thread is left for what is quick. */
  function next(): { task: Task; inSlowPlace: boolean } | undefined {
    const forSlowPlace = slowRuns() > 0 ? undefined : slow.next();
    if (forSlowPlace) return { task: forSlowPlace, inSlowPlace: true };
    for (let task = quick.next(); task; task = quick.next()) {
      if (!slow.waits(task.options.turn)) return { task, inSlowPlace: false };
      // An owner whose job waits for the slow place has had a first try: its next jobs wait behind that one.
      slow.add(task.options.turn, task);
    }
    return undefined;
  }

  function dispatch(): void {
    while (runs.size < threads && !closed) {
      const found = next();
      if (!found) return;
      void carryOut(found.task, found.inSlowPlace);
    }
  }

  async function carryOut(task: Task, inSlowPlace: boolean): Promise<void> {
    clearTimeout(task.waiting);
    const job = ++jobs;
    const run: Run = { task, slow: false, begunAt: performance.now(), stop: new AbortController() };
    runs.set(job, run);
    counts.begun += 1;
    if (inSlowPlace) enterSlowPlace(run);
    try {
      pool ??= start();
      const bytes = new Uint8Array(task.job.bytes);
      const message = { ...task.job, bytes, job } as ThreadTask;
      const outcome: TaskOutcome = await pool.run(message, { transferList: [bytes.buffer], signal: run.stop.signal });
      if ("fault" in outcome) task.reject(new TaskFault(outcome.fault, { overBudget: false }));
      else task.resolve(outcome.done);
    } catch (error) {
      fail(run, error as NodeJS.ErrnoException);
    } finally {
      clearTimeout(run.timer);
      runs.delete(job);
      const took = performance.now() - run.begunAt;
      queueOf(run).charge(task.options.turn, took);
      if (run.slow) slowTime.charge(task.options.turn, took - firstTryMs);
      dispatch();
    }
  }

  const queueOf = ({ slow: inSlowPlace }: Run) => (inSlowPlace ? slow : quick);

  /** What becomes of a job that was ended: it waits for the slow place, or it is given up. */
  function fail({ task, lastsMs, stop, timer }: Run, error: NodeJS.ErrnoException): void {
    if (closed) {
      task.reject(closedError());
    } else if (!stop.signal.aborted) {
      const fault = faultOf(error);
      if (timer !== undefined && fault !== undefined) task.reject(fault);
      else task.reject(new ThreadsAway(`no thread can work now: ${error.message}`, { cause: error }));
    } else if (lastsMs !== undefined) {
      counts.givenUp += 1;
      task.reject(new TaskFault(`took more than ${lastsMs} ms`, { overBudget: true }));
    } else {
      counts.setBack += 1;
      wait(task, slow);
    }
  }

  function wait(task: Task, queue: typeof quick): void {
    const { turn, waitMs } = task.options;
    queue.add(turn, task);
    if (waitMs === undefined) return;
    task.waiting = setTimeout(() => {
      for (const each of [quick, slow]) each.remove(turn, task);
      task.reject(new WaitedTooLong(`its turn did not come within ${waitMs} ms`));
    }, waitMs);
  }

  function enqueue(task: Task): void {
    wait(task, task.options.slow || task.job.bytes.length > largeBytes ? slow : quick);
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
      for (const task of [...quick.takeAll(), ...slow.takeAll()]) {
        clearTimeout(task.waiting);
        task.reject(closedError());
      }
      await pool?.destroy();
    },
  };
}

const closedError = () => new ThreadsAway("the threads are closed");

/** The fault of a job that ended its thread or failed; undefined if the thread was ended by us. */
function faultOf(error: NodeJS.ErrnoException): TaskFault | undefined {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return new TaskFault("took too much memory", { overBudget: true });
  if (error.message.startsWith("worker exited")) return new TaskFault("crashed its thread", { overBudget: false });
  if (error.message === "Terminating worker thread") return undefined;
  return new TaskFault(`failed: ${error.message}`, { overBudget: false });
}
