import { EventStoreDBClient } from "@eventstore/db-client";
import { StartError } from "#src/platform/startError.ts";

/** The schemes of KurrentDB's clients, of which ours knows the first alone. */
const schemes = /^(?:esdb|kurrentdb|kurrent|kdb)(\+discover)?:\/\//;
const credentials = /^[^:]+:\/\/[^:@/]+:[^@]+@/;

/**
 * Creates the client; the first call connects. Accepts the URLs of KurrentDB's clients (`esdb`, `kurrentdb`, `kurrent`, `kdb`, each also
 * with `+discover`); throws a StartError without secrets.
 */
export function connect(connectionString: string): EventStoreDBClient {
  const url = connectionString.trim().replace(schemes, "esdb$1://");
  const fault = faultIn(url);
  if (fault !== undefined) throw new StartError(`The event store's URL ${fault}: set EVENT_STORE_URL accordingly.`);
  try {
    return EventStoreDBClient.connectionString(url);
  } catch (error) {
    // The client's message may quote the password.
    throw new StartError(
      "The event store's URL is not valid: set EVENT_STORE_URL to a URL like esdb://user:password@host:2113?tls=true.",
      { cause: error instanceof Error ? error.name : undefined },
    );
  }
}

/** Options that are true or false. The client reads their names in any case, without `_` and `-`, but their values as they are. */
const switches = ["tls", "tlsverifycert", "throwonappendfailure"];

/** Finds what the client would refuse without naming it, or connect to without a password. */
function faultIn(url: string): string | undefined {
  const [hosts = "", query = ""] = url
    .replace(credentials, "//")
    .replace(/^.*?\/\//, "")
    .split("?");
  if (/\[|:[^,/]*:/.test(hosts)) return "has an IPv6 address, which the client cannot read: give a host name instead";
  const given = [...new URLSearchParams(query)].map(([name, value]) => ({
    option: name.toLowerCase().replaceAll(/[_-]/g, ""),
    ...{ name, value: value.trim() },
  }));
  const wrong = given.find(({ option, value }) => switches.includes(option) && value !== "true" && value !== "false");
  if (wrong) return `needs ${wrong.name} to be true or false, in small letters`;
  const isInsecure = given.some(({ option, value }) => option === "tls" && value === "false");
  return credentials.test(url) || isInsecure ? undefined : "needs user:password@ or tls=false";
}
