import { setMaxListeners } from "node:events";
import { asExpected, type EventStore } from "../eventStore.ts";
import { validateAppend, validateRevision, validateStream } from "../validate.ts";
import { createReader } from "./reader.ts";
import { type Log, silent } from "./recovery.ts";
import { subscription } from "./subscription.ts";
import { createTail } from "./tail.ts";
import { createWriter } from "./writer.ts";

export type PostgresEventStoreOptions = {
  /** The service's own role: it reads the log and appends by es.append, nothing else. */
  connectionString: string;
  /** How long an append or a read is tried, in milliseconds (default 5,000). */
  timeoutMs?: number;
  /** At most this many connections for reading (default 8); one more writes, and one more listens once somebody subscribes. */
  readers?: number;
  logger?: Log;
};

/** The event log in PostgreSQL 14 or newer, schema `es` (src/postgres/migrations). Connects when first used. */
export function createPostgresEventStore(options: PostgresEventStoreOptions): EventStore {
  const { connectionString, timeoutMs = 5_000, readers = 8, logger: log = silent } = options;
  const closing = new AbortController();
  setMaxListeners(0, closing.signal); // every subscription listens
  const reader = createReader({ connectionString, timeoutMs, connections: readers });
  const tail = createTail({ connectionString, timeoutMs, log });
  const writer = createWriter({ connectionString, timeoutMs, log, onCommitted: tail.committed });
  let closed: Promise<void> | undefined;

  async function close(): Promise<void> {
    closing.abort();
    await Promise.all([writer.close(), tail.close()]);
    await reader.close();
  }

  return {
    guards: true,
    async append(stream, wanted, events) {
      const expected = asExpected(wanted);
      const { revision, unlessMoved = [] } = expected;
      const valid = validateAppend(stream, revision, events);
      for (const guard of unlessMoved) {
        validateStream(guard.stream);
        validateRevision(guard.revision);
      }
      return writer.append(stream, expected, valid);
    },
    read: (stream, fromRevision = 0, maxCount) => reader.stream(stream, fromRevision, maxCount),
    readPage: (stream, stretch) => reader.streamPage(stream, stretch),
    readLast: (stream) => reader.last(stream),
    head: () => reader.head(),
    subscribe: (subscribeOptions) =>
      subscription({ pages: reader, tail, log, closing: closing.signal }, subscribeOptions),
    close: () => (closed ??= close()),
  };
}
