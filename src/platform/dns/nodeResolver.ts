import { Resolver as NodeResolver } from "node:dns/promises";
import type { Lookup, Resolver } from "./resolver.ts";

export type NodeResolverOptions = {
  /** `address` or `address:port`; undefined means the system's servers. */
  servers?: readonly string[] | undefined;
  /** Milliseconds after which a DNS server that does not answer is queried again (default 1,500). */
  timeoutMs?: number;
  /** Attempts per server (default 2). */
  tries?: number;
};

/** Error codes of an authoritative negative answer: NXDOMAIN, and a name without such records. */
const missing = ["ENOTFOUND", "ENODATA"];

/** Resolves through the servers of the setting DNS_SERVERS, or the system's. Nothing is cached. */
export function createNodeResolver({ servers, timeoutMs = 1_500, tries = 2 }: NodeResolverOptions): Resolver {
  const node = new NodeResolver({ timeout: timeoutMs, tries });
  if (servers) node.setServers(servers);

  const lookUp =
    <Answer, T = Answer>(ask: (name: string) => Promise<Answer[]>, read: (answer: Answer) => T) =>
    async (name: string): Promise<Lookup<T>> => {
      try {
        const answers = await ask(name);
        // A CNAME whose target does not exist gives an empty answer.
        return answers.length === 0 ? { outcome: "missing" } : { outcome: "found", records: answers.map(read) };
      } catch (error) {
        const { code = "an unknown failure" } = error as NodeJS.ErrnoException;
        return missing.includes(code)
          ? { outcome: "missing" }
          : { outcome: "temporary_failure", reason: inWords(code) };
      }
    };
  const asItIs = (text: string): string => text;

  return {
    txt: lookUp(
      (name) => node.resolveTxt(name),
      (chunks) => chunks.join(""),
    ),
    mx: lookUp(
      (name) => node.resolveMx(name),
      ({ exchange, priority }) => ({ exchange, priority }),
    ),
    ns: lookUp((name) => node.resolveNs(name), asItIs),
    cname: lookUp((name) => node.resolveCname(name), asItIs),
    a: lookUp((name) => node.resolve4(name), asItIs),
    aaaa: lookUp((name) => node.resolve6(name), asItIs),
    ptr: lookUp((name) => node.resolvePtr(name), asItIs),
  };
}

const words: Record<string, string> = {
  ESERVFAIL: "the DNS server failed (SERVFAIL)",
  EREFUSED: "the DNS server refused to answer",
  ETIMEOUT: "the DNS server did not answer in time",
  ECONNREFUSED: "the DNS server cannot be reached",
  EBADNAME: "the name cannot be looked up",
};

const inWords = (code: string): string => words[code] ?? `the DNS look-up failed (${code})`;
