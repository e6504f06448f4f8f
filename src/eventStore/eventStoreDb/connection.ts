import { EventStoreDBClient } from "@eventstore/db-client";

const hasCredentials = /^[^:]+:\/\/[^:@/]+:[^@]+@/;

/**
 * Creates the client; the first call connects. Accepts `esdb://`, `kurrentdb://` and their `+discover` forms; throws a sentence without
 * secrets.
 */
export function connect(connectionString: string): EventStoreDBClient {
  const url = connectionString.trim().replace(/^kurrentdb(\+discover)?:\/\//, "esdb$1://");
  const insecure = /[?&]tls=false(&|$)/i.test(url);
  if (!hasCredentials.test(url) && !insecure)
    throw new Error("the event store's URL needs user:password@ or tls=false: set EVENT_STORE_URL accordingly");
  try {
    return EventStoreDBClient.connectionString(url);
  } catch (error) {
    // The client's message may quote the password.
    throw new Error(
      "the event store's URL is not valid: set EVENT_STORE_URL to a URL like esdb://user:password@host:2113?tls=true",
      {
        cause: error instanceof Error ? error.name : undefined,
      },
    );
  }
}
