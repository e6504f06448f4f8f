import { setTimeout as sleep } from "node:timers/promises";
import type { DatabaseUrls } from "#src/platform/postgres/database.ts";

/** A benchmark: measures one or more kinds of work on a server. `size`: the default number of units; `unit`: what they are, for people. */
export type Bench = { size: number; unit: string; run(server: BenchServer, size: number): Promise<void> };

/** A PostgreSQL server of one benchmark. */
export type BenchServer = {
  /** Removed at the end. */
  directory: string;
  /** Creates an empty database. */
  database(): Promise<BenchDatabase>;
  /** Runs `work` and records its time and CPU as one row of the table. */
  measure(what: string, subject: Subject, work: Work): Promise<void>;
  /** Adds a row with only percentiles: the milliseconds of one kind of request within a `measure` of several kinds. */
  record(what: string, times: readonly number[]): void;
  /** Registers a cleanup. Cleanups run in reverse order before the server stops. */
  atEnd(cleanup: () => Promise<void>): void;
};

export type BenchDatabase = DatabaseUrls & {
  name: string;
  /** Runs a query as the superuser, whose statements are not counted. */
  rows<Row extends object>(sql: string): Promise<Row[]>;
  /** Runs a query that returns one number, in the same way. */
  number(sql: string): Promise<number>;
};

/** The Node process whose CPU is counted, and the database whose events and statements are. */
export type Subject = { pid: number; database: BenchDatabase };

/** Returns how many units were done, or how many milliseconds each of them took. */
export type Work = () => Promise<number | number[]>;

/** A measured kind of work: CPU and counts are for one unit, and absent in rows of `record`. */
export type Row = {
  what: string;
  perSecond?: number;
  /** Milliseconds. */
  p50?: number;
  p99?: number;
  /** Milliseconds of CPU; 0 if the system does not report it (only Linux does). */
  node?: number;
  postgres?: number;
  events?: number;
  statements?: number;
  /** Transactions that wrote. */
  writes?: number;
  /** Bytes of the events' data and metadata. */
  bytes?: number;
  /** Events and their bytes by type, and statements by their text: what the counts consist of. */
  parts?: Record<string, number>;
  /** Peak memory of the Node process so far, in megabytes. */
  megabytes?: number;
};

/** Shows a line of progress: overwritten on a terminal, one line each elsewhere. */
export const progress = (text: string): void =>
  void process.stderr.write(process.stderr.isTTY ? `\r\u001b[K${text}` : `${text}\n`);

/** Runs `workers` copies of a task concurrently, `count` times in all. Returns the milliseconds that each call took. */
export async function concurrently(
  workers: number,
  count: number,
  task: (n: number, worker: number) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  let begun = 0;
  const worker = async (_: unknown, index: number): Promise<void> => {
    while (begun < count) {
      const began = performance.now();
      await task(begun++, index);
      times.push(performance.now() - began);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return times;
}

/**
 * Starts `count` calls at a steady rate without waiting for their answers. Returns milliseconds from when each was due. Throws the first
 * failure once all calls have ended.
 */
export async function byTheClock(
  perSecond: number,
  count: number,
  call: (n: number) => Promise<unknown>,
): Promise<number[]> {
  const began = performance.now();
  const calls: Promise<number>[] = [];
  for (let n = 0; n < count; n++) {
    const due = began + (n * 1_000) / perSecond;
    await sleep(Math.max(0, due - performance.now()));
    const ended = call(n).then(() => performance.now() - due);
    ended.catch(() => {});
    calls.push(ended);
  }
  await Promise.allSettled(calls);
  return Promise.all(calls);
}
