import type pg from "pg";
import { LogRewound } from "../eventStore.ts";
import { type Log, pauses } from "../recovery.ts";
import { createWaiters, endsBefore } from "../waiters.ts";
import { createConnection } from "./connection.ts";

export type TailOptions = {
  connectionString: string;
  timeoutMs: number;
  log: Log;
  /** Called once if the log no longer holds the newest event that is known here. */
  onRewound: (error: LogRewound) => void;
};

/** An event by its place in the log. */
export type Place = { position: number; id: string };

/** Knows where the log ends, and wakes the readers that wait for more. */
export type Tail = {
  /** An event that was read, or committed by this very process: no need to wait for the notification. */
  saw(event: Place): void;
  /** For a new connection, before anything is written by it. Throws LogRewound. */
  requireSameLog(client: pg.Client): Promise<void>;
  /** Resolves when the log has grown beyond `after`, or on abort. Throws LogRewound. */
  beyond(after: number, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
};

const readEndAndKnown = `select position, event_id, (select event_id from es.events where position = $1)
  from es.events order by position desc limit 1`;

/** How often the end of the log is looked up, beside being told of every commit. */
const pollMs = 1_000;

/**
 * An own LISTEN client. The package pg-listen 1.7 does not serve: without its health check it never notices a connection that is only half
 * there, with it the check waits without end on that connection; and while the server is away, its retries go on after `close`. Here the
 * check is the poll: it has a timeout, finds what a lost notification would have said, and a failed one costs the connection, which is
 * opened again for as long as it takes.
 */
export function createTail({ connectionString, timeoutMs, log, onRewound }: TailOptions): Tail {
  const waiters = createWaiters();
  let newest: Place = { position: 0, id: "" };
  let rewound: LogRewound | undefined;
  let watching: Promise<void> | undefined;
  let closed = false;
  let endRest = (): void => {};

  const connection = createConnection({
    connectionString,
    name: "countersign log listener",
    prepare(client) {
      client.on("notification", ({ payload }) => {
        const [position, id = ""] = (payload ?? "").split(" ");
        saw({ position: Number(position), id });
      });
      return client.query("listen events");
    },
    onLost: () => endRest(),
  });

  function saw({ position, id }: Place): void {
    if (!(position > newest.position)) return;
    newest = { position, id };
    waiters.wake(position);
  }

  /** The log's own word of its end. It lacks the newest event that is known here only if it is not the log it was. */
  async function readEnd(client: pg.Client): Promise<Place> {
    const known = newest;
    const { rows } = await client.query<[position: string, id: string, atKnown: string | null]>({
      text: readEndAndKnown,
      values: [known.position],
      rowMode: "array",
    });
    const [position = "0", id = "", atKnown] = rows[0] ?? [];
    const found = { position: Number(position), id };
    if (known.position > 0 && atKnown !== known.id && !rewound) {
      rewound = found.position < known.position ? endsBefore(known.position, found.position) : differsAt(known);
      onRewound(rewound);
    }
    return found;
  }

  async function poll(): Promise<void> {
    const asked = performance.now();
    const found = await connection.run(timeoutMs, readEnd);
    saw(found);
    if (rewound) waiters.failAll(rewound);
    else waiters.failBeyond(found.position, asked);
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
    saw,
    async requireSameLog(client) {
      await readEnd(client);
      if (rewound) throw rewound;
    },
    async beyond(after, signal) {
      watching ??= watch();
      if (rewound) throw rewound;
      if (after >= newest.position) await waiters.wait(after, signal);
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

const differsAt = ({ position }: Place): LogRewound =>
  new LogRewound(`the event log holds another event at position ${position} than it did: it has lost events since`);
