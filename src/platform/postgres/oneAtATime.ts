import pg from "pg";
import { connectionTo } from "./connectionTo.ts";

/** Advisory locks of the database, by which instances that start at the same moment take turns. */
export const locks = { migrations: 727_274, firstStart: 727_278 } as const;

/**
 * Runs `work` in one instance at a time, with the owner's connection that holds the lock. If that connection is lost, another instance may
 * begin.
 */
export async function oneAtATime<T>(
  ownerUrl: string,
  lock: keyof typeof locks,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client(connectionTo(ownerUrl, {}));
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [locks[lock]]);
    return await work(client);
  } finally {
    await client.end();
  }
}
