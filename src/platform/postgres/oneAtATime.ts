import pg from "pg";

/** Instances that start at the same moment take their turns by these advisory locks of the database. */
export const locks = { migrations: 727_274, firstStart: 727_278 } as const;

/** What one instance at a time does, with the connection of the owner that holds the lock. If that is lost, another may begin. */
export async function oneAtATime<T>(
  ownerUrl: string,
  lock: keyof typeof locks,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: ownerUrl });
  client.on("error", () => {});
  await client.connect();
  try {
    await client.query("select pg_advisory_lock($1)", [locks[lock]]);
    return await work(client);
  } finally {
    await client.end();
  }
}
