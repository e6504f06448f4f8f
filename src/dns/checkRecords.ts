import type { DomainRecord, RecordFinding } from "#streams/domain/events.ts";
import { type ExpectedRecord, type RecordSettings, spfMechanism } from "./records.ts";
import type { Lookup, Resolver } from "./resolver.ts";

/** Looks every record up and says how it was found, and what was found instead. */
export async function checkRecords(
  resolver: Pick<Resolver, "txt" | "mx">,
  expected: readonly ExpectedRecord[],
  settings: RecordSettings,
): Promise<Record<DomainRecord, RecordFinding>> {
  const findings = await Promise.all(
    expected.map(async (record) => [record.record, await checkRecord(resolver, record, settings)] as const),
  );
  return Object.fromEntries(findings) as Record<DomainRecord, RecordFinding>;
}

async function checkRecord(
  resolver: Pick<Resolver, "txt" | "mx">,
  { record, fqdn, value }: ExpectedRecord,
  settings: RecordSettings,
): Promise<RecordFinding> {
  if (record === "mx")
    return judged(await resolver.mx(fqdn), `MX record at ${fqdn}`, (found) => faultOfMx(found, value));
  const fault = (found: string[]) => {
    if (record === "spf") return faultOfSpf(found, spfMechanism(settings));
    return record === "dkim" ? faultOfDkim(found, value) : faultOfText(found, value);
  };
  return judged(await resolver.txt(fqdn), `TXT record at ${fqdn}`, fault);
}

function judged<T>(lookup: Lookup<T>, what: string, faultOf: (found: T[]) => string | null): RecordFinding {
  if (lookup.outcome === "temporary_failure") return { status: "temporary_failure", reason: lookup.reason };
  if (lookup.outcome === "missing") return { status: "failed", reason: `no ${what}` };
  const reason = faultOf(lookup.records);
  return { status: reason === null ? "verified" : "failed", reason };
}

const faultOfText = (found: readonly string[], value: string): string | null =>
  found.some((text) => text.trim() === value) ? null : `found ${quoted(found)} instead`;

/** Two SPF records are as good as none (RFC 7208, 4.5). */
function faultOfSpf(found: readonly string[], mechanism: string): string | null {
  const records = found.filter((text) => /^v=spf1(\s|$)/i.test(text.trim()));
  if (records.length === 0) return `no SPF record among what was found: ${quoted(found)}`;
  if (records.length > 1) return `found ${records.length} SPF records, but there may be only one: ${quoted(records)}`;
  const terms = (records[0] as string).trim().toLowerCase().split(/\s+/);
  const wanted = mechanism.toLowerCase();
  if (terms.includes(wanted) || terms.includes(`+${wanted}`)) return null;
  return `the SPF record does not have ${mechanism}: ${quoted(records)}`;
}

const keyOf = (record: string): string | undefined => {
  const tags = record.split(";").map((tag) => tag.trim());
  const key = tags.find((tag) => /^p\s*=/.test(tag));
  return key?.slice(key.indexOf("=") + 1).replace(/\s+/g, "");
};

function faultOfDkim(found: readonly string[], value: string): string | null {
  const keys = found.filter((text) => keyOf(text) !== undefined);
  if (keys.length === 0) return `no DKIM key among what was found: ${quoted(found)}`;
  if (keys.length > 1) return `found ${keys.length} DKIM keys, but there may be only one`;
  const [key] = keys as [string];
  if (keyOf(key) === "") return "the DKIM key is empty, which means revoked";
  if (keyOf(key) !== keyOf(value)) return `another DKIM key: ${quoted(keys)}`;
  const type = /(?:^|;)\s*k\s*=\s*([^;\s]*)/.exec(key)?.[1];
  return type === undefined || type === "rsa" ? null : `the DKIM record says k=${type}, not k=rsa`;
}

const faultOfMx = (found: readonly { exchange: string }[], value: string): string | null =>
  found.some(({ exchange }) => sameHost(exchange, value))
    ? null
    : `mail goes to ${found
        .map(({ exchange }) => exchange || ".")
        .slice(0, shownRecords)
        .join(", ")} instead`;

export const sameHost = (one: string, other: string): boolean =>
  one.replace(/\.$/, "").toLowerCase() === other.replace(/\.$/, "").toLowerCase();

const shownRecords = 3;
const shownLength = 200;

function quoted(texts: readonly string[]): string {
  const shown = texts.slice(0, shownRecords).map((text) => JSON.stringify(text.slice(0, shownLength).toWellFormed()));
  const more = texts.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
