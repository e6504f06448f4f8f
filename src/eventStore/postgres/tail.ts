import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { LogRewound } from "../eventStore.ts";
import type { AdapterLog } from "../recovery.ts";
import { createWaiters, endsBefore } from "../waiters.ts";
import { createListener } from "./listener.ts";

export type TailOptions = {
  connectionString: string;
  timeoutMs: number;
  /** Pool to query the end of the log with. */
  pool: Queryable;
  log: AdapterLog;
  /** Called once if the log no longer contains the newest known event. */
  onRewound: (error: LogRewound) => void;
};

type Queryable = {
  query<Row extends unknown[]>(query: pg.QueryArrayConfig): Promise<pg.QueryArrayResult<Row>>;
};

/** Position and id of an event in the log. */
export type EventPlace = { position: number; id: string };

/** Knows the end of the log, and wakes the readers that wait for more. */
export type LogTail = {
  /** Reports an event that was read, or committed by this process: no need to wait for the notification. */
  saw(event: EventPlace): void;
  /** Checks a new connection before anything is written by it. Throws LogRewound. */
  requireSameLog(client: Queryable): Promise<void>;
  /** Resolves when the log has grown beyond `after`, or on abort. Throws LogRewound. */
  beyond(after: number, signal: AbortSignal): Promise<void>;
  close(): void;
};

const readEndAndKnown = `select position, event_id, (select event_id from es.events where position = $1)
  from es.events order by position desc limit 1`;

/** Milliseconds between reads of the end of the log: the longest delay of a lost notification. */
const pollMs = 1_000;

export function createTail({ connectionString, timeoutMs, pool, log, onRewound }: TailOptions): LogTail {
  const waiters = createWaiters();
  const closing = new AbortController();
  const listener = createListener({
    ...{ connectionString, timeoutMs, log },
    onNotified(payload) {
      const [position, id = ""] = payload.split(" ");
      saw({ position: Number(position), id });
    },
    onConnected: () => void poll(),
  });
  let newest: EventPlace = { position: 0, id: "" };
  let rewound: LogRewound | undefined;
  let isWatched = false;

  function saw({ position, id }: EventPlace): void {
    if (!(position > newest.position)) return;
    newest = { position, id };
    waiters.wake(position);
  }

  /** Reads the end of the log. A log without the newest known event is another log: it was restored or replaced. */
  async function readEnd(client: Queryable): Promise<EventPlace> {
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
    try {
      const asked = performance.now();
      const found = await readEnd(pool);
      saw(found);
      if (rewound) waiters.failAll(rewound);
      else waiters.failBeyond(found.position, asked);
    } catch (error) {
      if (!closing.signal.aborted) log.warn({ err: error }, "cannot watch the event log, retrying");
    }
  }

  async function watch(): Promise<void> {
    isWatched = true;
    while (!closing.signal.aborted) {
      listener.listen();
      await poll();
      await sleep(pollMs, undefined, { signal: closing.signal }).catch(() => {});
    }
  }

  return {
    saw,
    async requireSameLog(client) {
      await readEnd(client);
      if (rewound) throw rewound;
    },
    async beyond(after, signal) {
      if (!isWatched) void watch();
      if (rewound) throw rewound;
      if (after >= newest.position) await waiters.wait(after, signal);
    },
    close() {
      closing.abort();
      listener.close();
    },
  };
}

const differsAt = ({ position }: EventPlace): LogRewound =>
  new LogRewound(`the event log holds another event at position ${position} than it did: it has lost events since`);
