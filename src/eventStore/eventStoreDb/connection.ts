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
  const url = connectionString.trim().replace(/\/+$/, "").replace(schemes, "esdb$1://");
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

/** Options that are true or false. The client reads names of options in any case, without `_` and `-`, but values as they are. */
const switches = ["tls", "tlsverifycert", "throwonappendfailure"];
const options = [
  ...switches,
  ...["nodepreference", "connectionname", "defaultdeadline", "tlscafile", "usercertfile", "userkeyfile"],
  ...["maxdiscoverattempts", "discoveryinterval", "gossiptimeout", "keepaliveinterval", "keepalivetimeout"],
];

/**
 * Finds what the client would refuse without naming it, connect to without a password, or ignore with a warning on the terminal that
 * repeats the password.
 */
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
  const unknown = given.find(({ option }) => !options.includes(option));
  if (unknown)
    return `has an option that the client does not know${/^\w{1,30}$/.test(unknown.name) ? `, ${unknown.name}` : ""}`;
  if (given.some(({ option, value }) => option === "tlsverifycert" && value === "false"))
    return "has tlsVerifyCert=false, which the client cannot do: give the authority's certificate by tlsCAFile";
  const isInsecure = given.some(({ option, value }) => option === "tls" && value === "false");
  return credentials.test(url) || isInsecure ? undefined : "needs user:password@ or tls=false";
}
