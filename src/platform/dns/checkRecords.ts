import type { DomainRecord, RecordFinding } from "#streams/domain/events.ts";
import { faultOfDkim } from "./dkimRecord.ts";
import { quoted } from "./quoted.ts";
import type { ExpectedRecord } from "./records.ts";
import type { Lookup, MailExchange, Resolver } from "./resolver.ts";
import type { SpfJudge } from "./spf/judgeSpf.ts";

export type RecordCheck = { resolver: Pick<Resolver, "txt" | "mx">; judgeSpf: SpfJudge };

/**
 * Looks up every record, judges it as receivers do, and reports its state and the values found instead; of several fields of a kind the
 * worst counts.
 */
export async function checkRecords(
  by: RecordCheck,
  expected: readonly ExpectedRecord[],
): Promise<Record<DomainRecord, RecordFinding>> {
  const findings = new Map<DomainRecord, RecordFinding>();
  const all = await Promise.all(expected.map(async (each) => [each.record, await checkRecord(by, each)] as const));
  for (const [record, finding] of all) {
    const before = findings.get(record);
    findings.set(record, before ? worseOf(before, finding) : finding);
  }
  return Object.fromEntries(findings) as Record<DomainRecord, RecordFinding>;
}

const badness = ["verified", "temporary_failure", "failed"];

function worseOf(one: RecordFinding, other: RecordFinding): RecordFinding {
  if (one.status === other.status)
    return { ...one, reason: [one.reason, other.reason].filter((reason) => reason !== null).join("; ") || null };
  return badness.indexOf(one.status) > badness.indexOf(other.status) ? one : other;
}

async function checkRecord(
  { resolver, judgeSpf }: RecordCheck,
  { record, type, fqdn, value }: ExpectedRecord,
): Promise<RecordFinding> {
  if (value === "") return { status: "temporary_failure", reason: "the mail provider has not said what it has to be" };
  if (type === "MX") return judged(await resolver.mx(fqdn), `MX record at ${fqdn}`, (found) => faultOfMx(found, value));
  if (isSpf(value)) return judgeSpf({ fqdn, value });
  const faultOf = record === "dkim" ? faultOfDkim : faultOfText;
  return judged(await resolver.txt(fqdn), `TXT record at ${fqdn}`, (found) => faultOf(found, value));
}

function judged<T>(lookup: Lookup<T>, what: string, faultOf: (found: T[]) => string | null): RecordFinding {
  if (lookup.outcome === "temporary_failure") return { status: "temporary_failure", reason: lookup.reason };
  if (lookup.outcome === "missing") return { status: "failed", reason: `no ${what}` };
  const reason = faultOf(lookup.records);
  return { status: reason === null ? "verified" : "failed", reason };
}

const faultOfText = (found: readonly string[], value: string): string | null =>
  found.some((text) => text.trim() === value) ? null : `found ${quoted(found)} instead`;

const isSpf = (text: string): boolean => /^v=spf1(\s|$)/i.test(text.trim());

/** Mail goes to the hosts of the best preference alone, as long as one of them answers. */
function faultOfMx(found: readonly MailExchange[], value: string): string | null {
  const best = Math.min(...found.map(({ priority }) => priority));
  const first = found.filter(({ priority }) => priority === best);
  const others = first.filter(({ exchange }) => !sameHost(exchange, value));
  if (others.length === 0) return null;
  const hosts = named(others);
  if (others.length < first.length) return `mail also goes to ${hosts}, with the same preference ${best} as ${value}`;
  const own = found.find(({ exchange }) => sameHost(exchange, value));
  return own
    ? `mail goes to ${hosts} instead, whose preference ${best} is before the ${own.priority} of ${value}`
    : `mail goes to ${hosts} instead`;
}

const named = (exchanges: readonly MailExchange[]): string =>
  exchanges
    .slice(0, 3)
    .map(({ exchange }) => exchange || ".")
    .join(", ");

export const sameHost = (one: string, other: string): boolean =>
  one.replace(/\.$/, "").toLowerCase() === other.replace(/\.$/, "").toLowerCase();
