import { EventStoreDBClient } from "@eventstore/db-client";

export type Connection = {
  client: EventStoreDBClient;
  /**
   * Given with every append: that alone makes the client take its unary path, where calls cannot disturb each other
   * and a deadline is kept. An insecure server ignores them.
   */
  credentials: { username: string; password: string };
};

/** Opens nothing yet: the first call does. Accepts `esdb://`, `kurrentdb://` and their `+discover` forms; throws a sentence without secrets. */
export function connect(connectionString: string): Connection {
  const url = connectionString.trim().replace(/^kurrentdb(\+discover)?:\/\//, "esdb$1://");
  const credentials = credentialsIn(url);
  const insecure = /[?&]tls=false(&|$)/i.test(url);
  if (!credentials && !insecure)
    throw new Error("the event store's URL needs user:password@ or tls=false: set EVENT_STORE_URL accordingly");
  try {
    const client = EventStoreDBClient.connectionString(url);
    return { client, credentials: credentials ?? { username: "none", password: "none" } };
  } catch (error) {
    // The client's own words may quote the password.
    throw new Error(
      "the event store's URL is not valid: set EVENT_STORE_URL to a URL like esdb://user:password@host:2113?tls=true",
      {
        cause: error instanceof Error ? error.name : undefined,
      },
    );
  }
}

/** The user and the password of a server's URL, if it has both. */
export function credentialsIn(url: string): Connection["credentials"] | undefined {
  const [, username, password] = /^[^:]+:\/\/([^:@/]+):([^@]+)@/.exec(url) ?? [];
  if (!username || !password) return undefined;
  return { username: decodeURIComponent(username), password: decodeURIComponent(password) };
}
