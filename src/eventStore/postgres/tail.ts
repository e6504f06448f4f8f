import { LogRewound } from "../eventStore.ts";
import { createConnection } from "./connection.ts";
import { readHead } from "./reader.ts";
import { type Log, pauses } from "./recovery.ts";

export type TailOptions = {
  connectionString: string;
  timeoutMs: number;
  log: Log;
  /** The server's process that this process's commits come from: it says itself what it has committed. */
  ownBackend: () => number | undefined;
};

/** Knows where the log ends, and wakes the readers that wait for more. */
export type Tail = {
  /** The highest position known to be committed. */
  head(): number;
  /** A commit of this very process: no need to wait for the notification. */
  committed(position: number): void;
  /** Resolves when the log has grown beyond `after`, or on abort. Throws LogRewound. */
  beyond(after: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

type Waiter = { after: number; since: number; wake(): void; fail(error: Error): void };

/** How often the end of the log is looked up, beside being told of every commit. */
const pollMs = 1_000;

/**
 * An own LISTEN client. The package pg-listen 1.7 does not serve: without its health check it never notices a connection that is only half
 * there, with it the check waits without end on that connection; and while the server is away, its retries go on after `close`. Here the
 * check is the poll: it has a timeout, finds what a lost notification would have said, and a failed one costs the connection, which is
 * opened again for as long as it takes.
 */
export function createTail({ connectionString, timeoutMs, log, ownBackend }: TailOptions): Tail {
  const waiters = new Set<Waiter>();
  let head = 0;
  let rewound: LogRewound | undefined;
  let watching: Promise<void> | undefined;
  let closed = false;
  let endRest = (): void => {};

  const connection = createConnection({
    connectionString,
    name: "countersign log listener",
    prepare(client) {
      // One's own comes about when the commit is answered, which says what was written too. If that is lost, the commit is sent again.
      client.on("notification", ({ processId, payload }) => {
        if (processId !== ownBackend()) grow(Number(payload));
      });
      return client.query("listen events");
    },
    onLost: () => endRest(),
  });

  function grow(position: number): void {
    if (!(position > head)) return;
    head = position;
    for (const waiter of waiters) if (waiter.after < head) waiter.wake();
  }

  /** The log's own word. It can only be behind what is known here, or asked of us, if it is not the log it was. */
  async function poll(): Promise<void> {
    const asked = performance.now();
    const known = head;
    const { rows } = await connection.run(timeoutMs, (client) =>
      client.query<[string]>({ text: readHead, rowMode: "array" }),
    );
    const found = Number(rows[0]?.[0]);
    if (found < known) rewound = endsBefore(known, found);
    grow(found);
    for (const waiter of waiters) {
      if (rewound) waiter.fail(rewound);
      else if (waiter.since < asked && waiter.after > found) waiter.fail(endsBefore(waiter.after, found));
    }
  }

  async function watch(): Promise<void> {
    const pause = pauses();
    while (!closed) {
      try {
        await poll();
        pause.reset();
        await rest(pollMs);
      } catch (error) {
        log.warn({ err: error }, "cannot watch the event log, retrying");
        await rest(pause.next());
      }
    }
  }

  const rest = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => endRest(), ms);
      endRest = () => {
        clearTimeout(timer);
        resolve();
      };
      if (closed) endRest();
    });

  return {
    head: () => head,
    committed: grow,
    beyond(after, signal) {
      watching ??= watch();
      return new Promise((resolve, reject) => {
        const settle = (end: () => void): void => {
          waiters.delete(waiter);
          signal.removeEventListener("abort", waiter.wake);
          end();
        };
        const waiter: Waiter = {
          after,
          since: performance.now(),
          wake: () => settle(resolve),
          fail: (error) => settle(() => reject(error)),
        };
        waiters.add(waiter);
        signal.addEventListener("abort", waiter.wake);
        if (rewound) waiter.fail(rewound);
        else if (after < head || signal.aborted) waiter.wake();
      });
    },
    async close() {
      closed = true;
      endRest();
      connection.close();
      await watching;
      connection.close();
    },
  };
}

const endsBefore = (known: number, found: number): LogRewound =>
  new LogRewound(`the event log ends at position ${found}, but had reached ${known}: it was restored or replaced`);
