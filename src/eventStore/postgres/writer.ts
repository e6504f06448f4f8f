import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Appended, type Expected, InvalidAppend, LogRewound, Unavailable } from "../eventStore.ts";
import { type AdapterLog, retryPauses } from "../recovery.ts";
import type { ValidEvent } from "../validate.ts";
import { type AppendRequest, takeBatch } from "./batch.ts";
import { type AppendOutcome, commit } from "./commit.ts";
import { createConnection } from "./connection.ts";
import type { EventPlace } from "./tail.ts";

export type WriterOptions = {
  connectionString: string;
  timeoutMs: number;
  log: AdapterLog;
  /** Throws LogRewound if the connection's server has another log. */
  requireSameLog: (client: pg.Client) => Promise<void>;
  /** Called after every commit with the event of its highest position. */
  onCommitted: (newest: EventPlace) => void;
};

export type LogWriter = {
  append(stream: string, expected: Expected, events: ValidEvent[]): Promise<Appended>;
  close(): Promise<void>;
};

/**
 * Group commit: appends that arrive during a commit share the next one, over one connection. Undecided appends of a lost connection are
 * sent again with the same ids and revisions: the log recognises those it has.
 */
export function createWriter(options: WriterOptions): LogWriter {
  const { connectionString, timeoutMs, log, requireSameLog, onCommitted } = options;
  const queue: AppendRequest[] = [];
  const pause = retryPauses();
  const connection = createConnection({
    connectionString,
    name: "countersign log writer",
    async prepare(client) {
      await setUp(client, timeoutMs);
      await requireSameLog(client);
    },
  });
  let draining: Promise<void> | undefined;
  let trouble: Error | undefined;
  let closed = false;

  async function drain(): Promise<void> {
    while (queue.length > 0) {
      // Callers that were just answered, or woke with the caller, join the batch.
      await nextTurn();
      giveUpExpired();
      const batch = takeBatch(queue);
      if (batch.length > 0) await settle(batch);
    }
    draining = undefined;
  }

  async function settle(batch: readonly AppendRequest[]): Promise<void> {
    const rest = Math.min(...batch.map(({ deadline }) => deadline)) - performance.now();
    // Under overload every batch contains a request that is nearly due: closing the connection for it would let none succeed.
    const patience = Math.max(timeoutMs / 5, rest);
    try {
      const outcomes = await connection.run(patience, (client) => commit(client, batch));
      pause.reset();
      trouble = undefined;
      onCommitted(newestOf(batch, outcomes));
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome instanceof Error) batch[index]!.reject(outcome);
        else batch[index]!.resolve(outcome);
      }
    } catch (error) {
      if (error instanceof LogRewound) for (const { reject } of batch) reject(error);
      else if (isRefusal(error)) refuse(batch, error);
      else await tryAgain(batch, error as Error);
    }
  }

  /** The batch was rolled back because of one request's payload: each is retried alone, and the one at fault is refused. */
  function refuse(batch: readonly AppendRequest[], error: pg.DatabaseError): void {
    if (batch.length > 1) {
      for (const request of batch) request.alone = true;
      queue.unshift(...batch);
    } else {
      for (const { stream, reject } of batch)
        reject(new InvalidAppend(`${stream}: ${error.message}`, { cause: error }));
    }
  }

  async function tryAgain(batch: readonly AppendRequest[], error: Error): Promise<void> {
    log.warn({ err: error, appends: batch.length }, "the outcome of an append is unknown, checking");
    trouble = error;
    queue.unshift(...batch);
    await sleep(pause.next());
  }

  function giveUpExpired(): void {
    const now = performance.now();
    const kept = queue.filter(({ deadline }) => deadline > now);
    if (kept.length === queue.length) return;
    const why = `no answer within ${timeoutMs} ms: ${trouble?.message ?? "too many appends are waiting"}`;
    for (const { stream, deadline, reject } of queue) {
      if (deadline <= now) reject(new Unavailable(`${stream}: ${why}`, { cause: trouble }));
    }
    queue.splice(0, queue.length, ...kept);
  }

  return {
    append: (stream, { revision, unlessMoved = [] }, events) =>
      new Promise((resolve, reject) => {
        if (closed) throw new Unavailable("the event store is closed");
        const bytes = events.reduce((sum, event) => sum + event.data.length + event.metadata.length, 0);
        const deadline = performance.now() + timeoutMs;
        queue.push({
          stream,
          expectedRevision: revision,
          events,
          bytes,
          guards: unlessMoved,
          deadline,
          alone: false,
          resolve,
          reject,
        });
        draining ??= drain();
      }),
    async close() {
      closed = true;
      await draining;
      connection.close();
    },
  };
}

/** Returns the newest event written; position 0 if none was. */
function newestOf(batch: readonly AppendRequest[], outcomes: readonly AppendOutcome[]): EventPlace {
  let newest: EventPlace = { position: 0, id: "" };
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome instanceof Error || outcome.position <= newest.position) continue;
    newest = { position: outcome.position, id: batch[index]!.events.at(-1)!.id.toLowerCase() };
  }
  return newest;
}

/** True for an SQL error about the request (bad data, an id used elsewhere, over a limit), not about the server. */
const isRefusal = (error: unknown): error is pg.DatabaseError =>
  error instanceof pg.DatabaseError && error.severity === "ERROR" && /^(22|23|54)/.test(error.code ?? "");

/**
 * Sets what the append relies on, whatever the server's defaults: a snapshot per statement (the lock is taken before reading), durability
 * when answered, plans made once. The timeouts end a call whose client has gone, or was suspended while sending it.
 */
async function setUp(client: pg.Client, timeoutMs: number): Promise<void> {
  await client.query(
    `select set_config('default_transaction_isolation', 'read committed', false),
        set_config('plan_cache_mode', 'force_generic_plan', false),
        set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on' else current_setting('synchronous_commit') end, false),
        (select count(set_config(name, $1, false)) from pg_settings where name in ('statement_timeout', 'transaction_timeout'))`,
    [String(Math.ceil(timeoutMs))],
  );
}
