import { type Batch, type EventStore, type LogRewound, toExpected } from "../eventStore.ts";
import { type AdapterLog, silentLog } from "../recovery.ts";
import { sharePageReads } from "../sharedPageReads.ts";
import { subscribe } from "../subscription.ts";
import { isStreamName, validateAppend, validateRevision, validateStream } from "../validate.ts";
import { createReader } from "./reader.ts";
import { createTail } from "./tail.ts";
import { createWriter } from "./writer.ts";

export type PostgresEventStoreOptions = {
  /** URL of the service's role, which may read the log and append by es.append, nothing else. */
  connectionString: string;
  /** Milliseconds for which an append or a read is retried (default 5,000). */
  timeoutMs?: number;
  /** Connections for reading, at most (default 8); one more writes, and one more listens once there is a subscriber. */
  readers?: number;
  logger?: AdapterLog;
  /**
   * Called once if the log has lost the newest known event, as after a failover to a standby that had not received it: all data derived
   * from lost events are wrong, wherever they are stored. Every subscription ends with the same error, and so does every append over a new
   * connection.
   */
  onRewound?: (error: LogRewound) => void;
};

/** The event log in PostgreSQL 14 or newer, schema `es` (src/platform/postgres/migrations). Connects when first used. */
export function createPostgresEventStore(options: PostgresEventStoreOptions): EventStore {
  const { connectionString, timeoutMs = 5_000, readers = 8, logger: log = silentLog, onRewound = () => {} } = options;
  const closing = new AbortController();
  const reader = createReader({
    connectionString,
    timeoutMs,
    connections: readers,
    onRead: (event) => tail.saw(event),
  });
  const writer = createWriter({
    connectionString,
    timeoutMs,
    log,
    requireSameLog: (client) => tail.requireSameLog(client),
    onCommitted: (newest) => tail.saw(newest),
  });
  const tail = createTail({ connectionString, timeoutMs, pool: reader.pool, log, onRewound });
  const { page } = sharePageReads(readPage);
  let closed: Promise<void> | undefined;

  async function readPage(after: number): Promise<Batch> {
    const { events, atEnd } = await reader.page(after);
    return { events, position: events.at(-1)?.position ?? after, caughtUp: atEnd };
  }

  async function close(): Promise<void> {
    closing.abort();
    tail.close();
    await writer.close();
    await reader.close();
  }

  return {
    guards: true,
    async append(stream, wanted, events) {
      const expected = toExpected(wanted);
      const { revision, unlessMoved = [] } = expected;
      const valid = validateAppend(stream, revision, events);
      for (const guard of unlessMoved) {
        validateStream(guard.stream);
        validateRevision(guard.revision);
      }
      return writer.append(stream, expected, valid);
    },
    // A name that the database would refuse belongs to no stream.
    async read(stream, fromRevision = 0, maxCount) {
      return isStreamName(stream) ? reader.stream(stream, fromRevision, maxCount) : [];
    },
    async readPage(stream, stretch) {
      return isStreamName(stream) ? reader.streamPage(stream, stretch) : { events: [], atEnd: true };
    },
    async readLast(stream) {
      return isStreamName(stream) ? reader.last(stream) : undefined;
    },
    head: () => reader.head(),
    subscribe: (subscribeOptions) =>
      subscribe({ page, beyond: tail.beyond, log, closing: closing.signal }, subscribeOptions),
    close: () => (closed ??= close()),
  };
}
