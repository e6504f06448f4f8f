import pg from "pg";
import { connectionTo } from "#src/platform/postgres/connectionTo.ts";

export type ConnectionOptions = {
  connectionString: string;
  /** Name shown by pg_stat_activity. */
  name: string;
  /** Makes a fresh connection ready for use. */
  prepare: (client: pg.Client) => Promise<unknown>;
};

/** One connection that is replaced when it breaks. */
export type Connection = {
  /**
   * Runs the work on the connection, and opens one if there is none. Closes the connection after a failure other than an SQL error, and if
   * an answer takes longer than `patienceMs`.
   */
  run<T>(patienceMs: number, work: (client: pg.Client) => Promise<T>): Promise<T>;
  close(): void;
};

export function createConnection(options: ConnectionOptions): Connection {
  const { connectionString, name, prepare } = options;
  let current: { client: pg.Client; ready: Promise<unknown> } | undefined;

  function open(): NonNullable<typeof current> {
    const client = new pg.Client(connectionTo(connectionString, { application_name: name }));
    client.on("error", () => {});
    client.on("end", () => {
      if (current?.client === client) current = undefined;
    });
    return { client, ready: client.connect().then(() => prepare(client)) };
  }

  function drop(client: pg.Client): void {
    if (current?.client === client) current = undefined;
    discard(client);
  }

  return {
    async run(patienceMs, work) {
      current ??= open();
      const { client, ready } = current;
      let prepared = false;
      try {
        return await within(
          patienceMs,
          ready.then(() => {
            prepared = true;
            return work(client);
          }),
        );
      } catch (error) {
        if (!prepared || !isAnswer(error)) drop(client);
        throw error;
      }
    },
    close() {
      if (current) drop(current.client);
    },
  };
}

/** True if the server answered and the connection is usable: a FATAL error, or one without SQLSTATE, ends it. */
const isAnswer = (error: unknown): boolean => error instanceof pg.DatabaseError && error.severity === "ERROR";

/** Closes the connection without waiting for the server; if a query is in progress, closes the socket immediately. */
function discard(client: pg.Client): void {
  client.end().catch(() => {});
}

async function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${Math.round(ms)} ms`)), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
