import { fileURLToPath } from "node:url";
import { FixedQueue, Piscina } from "piscina";
import { createFairQueue } from "./fairQueue.ts";
import { TaskFault, ThreadsAway, WaitedTooLong } from "./faults.ts";
import { createSlowBudget } from "./slowBudget.ts";
import type { TaskOutcome, ThreadTask } from "./thread.ts";

/** A task for a thread, by name (thread.ts). `bytes` are copied for each attempt; the caller's are not changed. */
export type PoolJob = ThreadTask extends infer Task ? (Task extends unknown ? Omit<Task, "job"> : never) : never;

export type PoolJobOptions = {
  /** Owner of the work: an identity for mail, a workspace for requests. Owners take turns. */
  turn: string;
  /** True if the job is known to take long, for example a large mail: it goes to the slow lane immediately. */
  slow?: boolean;
  /** Milliseconds that it waits for a thread at most; unlimited if absent. */
  waitMs?: number;
};

export type ThreadPool = {
  /**
   * Runs the job in a thread. Throws TaskFault if the job crashed its thread or took too long, WaitedTooLong if its turn did not come
   * within `waitMs`, and ThreadsAway if no thread can be started, or the pool is closed.
   */
  run<T>(job: PoolJob, options: PoolJobOptions): Promise<T>;
  /** Returns counts since the pool was created. */
  counts(): PoolCounts;
  /** Ends the threads; jobs in progress reject. */
  close(): Promise<void>;
};

export type PoolCounts = {
  /** Starts of jobs in threads. A job that moves to the slow lane starts twice. */
  begun: number;
  /** First attempts that were stopped to wait for the slow lane. */
  setBack: number;
  /** Jobs that were given up: in the slow lane, or after the first attempt if their owner had used up its slow time. */
  givenUp: number;
  /** Highest number of jobs in the slow lane at once. */
  slowAtOnce: number;
};

/** Limits of work in threads: reading strangers' mail, and costly work of requests and processes (costlyWork.ts). */
export type ThreadLimits = {
  /** Number of threads, started with the first job (default 2). */
  threads: number;
  /** Milliseconds of the first attempt (default 300). */
  firstTryMs: number;
  /** Milliseconds in the slow lane (default 10,000). */
  slowMs: number;
  /** Milliseconds beyond the first attempts that slow jobs of one owner may take in a minute (default 20,000). */
  slowPerMinuteMs: number;
  /** Bytes above which a mail goes to the slow lane at once (default 4 MB): so one large mail is read at a time. */
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
  job: PoolJob;
  options: PoolJobOptions;
  resolve(result: unknown): void;
  reject(error: unknown): void;
  /** Timer while it waits for a thread, if its wait is limited. */
  waiting?: NodeJS.Timeout;
};

type TaskRun = {
  task: Task;
  slow: boolean;
  begunAt: number;
  timer?: NodeJS.Timeout;
  stop: AbortController;
  /** Set if the job is given up when this attempt is stopped: after how many milliseconds that is. */
  lastsMs?: number;
};

/**
 * Megabytes of a thread's young generation, of which V8 uses up to 1.5 times as much. V8's default would be 48, and it would keep most of
 * it.
 */
const youngMb = 12;

/** Entry of a thread. It exports `doTask` of thread.ts. */
const entry = fileURLToPath(new URL("./threadWorker.mjs", import.meta.url));

/**
 * Creates threads for work that would block the event loop, with fair turns between owners. A job has a short first attempt. If that is
 * over, it continues in the slow lane, or waits for it if another job is there: so one thread is always free for quick jobs. An owner that
 * has used up its time in the slow lane gets no more of it this minute, so a stranger cannot block the recipient of their mail for long. A
 * thread that hangs or dies fails its job, and is replaced.
 */
export function createThreadPool(limits: Partial<ThreadLimits & { entry: string }> = {}): ThreadPool {
  const { threads, firstTryMs, slowMs, slowPerMinuteMs, largeBytes, maxHeapMb } = { ...usual, ...limits };
  const quick = createFairQueue<Task>();
  const slow = createFairQueue<Task>();
  const slowTime = createSlowBudget(slowPerMinuteMs);
  const runs = new Map<number, TaskRun>();
  const counts: PoolCounts = { begun: 0, setBack: 0, givenUp: 0, slowAtOnce: 0 };
  let pool: Piscina | undefined;
  let closed = false;
  let jobs = 0;

  function start(): Piscina {
    const started = new Piscina({
      filename: limits.entry ?? entry,
      name: "doTask",
      // Minimum and maximum are equal: a thread that died is replaced at once, even if no further job arrives.
      minThreads: threads,
      maxThreads: threads,
      execArgv: [],
      recordTiming: false,
      taskQueue: new FixedQueue(),
      resourceLimits: { maxOldGenerationSizeMb: maxHeapMb, maxYoungGenerationSizeMb: youngMb },
    });
    started.on("message", hasBegun);
    // A thread could not be started. Jobs waiting for it would wait forever; the next job starts a new pool.
    return started.on("error", () => {
      if (pool === started) pool = undefined;
      void started.destroy();
    });
  }

  const slowRuns = (): number => [...runs.values()].filter((run) => run.slow).length;

  /** Neither queueing nor the start of a thread is charged to the job. */
  function hasBegun(job: number): void {
    const run = runs.get(job);
    if (!run) return;
    run.begunAt = performance.now();
    if (run.slow) endAfter(run, isSpent(run) ? shortMs(run.task.job) : slowMs);
    else run.timer = setTimeout(() => endFirstTry(run), firstTryMs);
  }

  const isSpent = ({ task }: TaskRun): boolean => slowTime.isSpent(task.options.turn);

  /** Milliseconds for a job whose owner has used up its slow time: a large mail takes longer than others without being slow. */
  const shortMs = ({ bytes }: PoolJob): number => firstTryMs * (1 + Math.floor(bytes.length / largeBytes));

  function endAfter(run: TaskRun, lastsMs: number): void {
    run.lastsMs = lastsMs;
    run.timer = setTimeout(() => run.stop.abort(), lastsMs - (performance.now() - run.begunAt));
  }

  function endFirstTry(run: TaskRun): void {
    if (isSpent(run)) {
      endAfter(run, firstTryMs);
    } else if (slowRuns() > 0) {
      run.stop.abort();
    } else {
      enterSlowPlace(run);
      endAfter(run, slowMs);
    }
  }

  function enterSlowPlace(run: TaskRun): void {
    run.slow = true;
    counts.slowAtOnce = Math.max(counts.slowAtOnce, slowRuns());
  }

  /** The slow lane is filled first: the other thread is left for quick jobs. */
  function next(): { task: Task; inSlowPlace: boolean } | undefined {
    const forSlowPlace = slowRuns() > 0 ? undefined : slow.next();
    if (forSlowPlace) return { task: forSlowPlace, inSlowPlace: true };
    for (let task = quick.next(); task; task = quick.next()) {
      if (!slow.waits(task.options.turn)) return { task, inSlowPlace: false };
      // An owner whose job waits for the slow lane has had a first attempt: its next jobs wait behind that one.
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
    const run: TaskRun = { task, slow: false, begunAt: performance.now(), stop: new AbortController() };
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

  const queueOf = ({ slow: inSlowPlace }: TaskRun) => (inSlowPlace ? slow : quick);

  /** Handles a stopped job: it waits for the slow lane, or is given up. */
  function fail({ task, lastsMs, stop, timer }: TaskRun, error: NodeJS.ErrnoException): void {
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
    run: <T>(job: PoolJob, options: PoolJobOptions) =>
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

/** Returns the fault of a job that crashed its thread or failed; undefined if the thread was stopped by us. */
function faultOf(error: NodeJS.ErrnoException): TaskFault | undefined {
  if (error.code === "ERR_WORKER_OUT_OF_MEMORY") return new TaskFault("took too much memory", { overBudget: true });
  if (error.message.startsWith("worker exited")) return new TaskFault("crashed its thread", { overBudget: false });
  if (error.message === "Terminating worker thread") return undefined;
  return new TaskFault(`failed: ${error.message}`, { overBudget: false });
}
