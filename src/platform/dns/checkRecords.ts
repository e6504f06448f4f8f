import { cutText } from "#streams/cutText.ts";
import type { DomainRecord, RecordFinding } from "#streams/domain/events.ts";
import type { ExpectedRecord } from "./records.ts";
import type { Lookup, Resolver } from "./resolver.ts";

/** Looks up every record and reports its state and the values found instead; of several fields of a kind the worst counts. */
export async function checkRecords(
  resolver: Pick<Resolver, "txt" | "mx">,
  expected: readonly ExpectedRecord[],
): Promise<Record<DomainRecord, RecordFinding>> {
  const findings = new Map<DomainRecord, RecordFinding>();
  const all = await Promise.all(
    expected.map(async (each) => [each.record, await checkRecord(resolver, each)] as const),
  );
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
  resolver: Pick<Resolver, "txt" | "mx">,
  { record, type, fqdn, value }: ExpectedRecord,
): Promise<RecordFinding> {
  if (value === "") return { status: "temporary_failure", reason: "the mail provider has not said what it has to be" };
  if (type === "MX") return judged(await resolver.mx(fqdn), `MX record at ${fqdn}`, (found) => faultOfMx(found, value));
  const fault = (found: string[]) => {
    if (isSpf(value)) return faultOfSpf(found, value);
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

const isSpf = (text: string): boolean => /^v=spf1(\s|$)/i.test(text.trim());

const termsOf = (record: string): string[] => record.trim().toLowerCase().split(/\s+/);

/**
 * Returns what is wrong with the SPF records, or null. Two records are invalid (RFC 7208, 4.5). The domain may let other servers send too:
 * only our mechanism is required.
 */
function faultOfSpf(found: readonly string[], value: string): string | null {
  const records = found.filter(isSpf);
  if (records.length === 0) return `no SPF record; found ${quoted(found)}`;
  if (records.length > 1) return `found ${records.length} SPF records, but only one is allowed: ${quoted(records)}`;
  const terms = termsOf(records[0] as string);
  const wanted = value.trim().split(/\s+/).slice(1);
  const missing = wanted.filter((term) => !/^[+?~-]?all$/i.test(term) && !has(terms, term.toLowerCase()));
  return missing.length === 0 ? null : `the SPF record does not have ${missing.join(" ")}: ${quoted(records)}`;
}

const has = (terms: readonly string[], mechanism: string): boolean =>
  terms.includes(mechanism) || terms.includes(`+${mechanism}`);

const keyOf = (record: string): string | undefined => {
  const tags = record.split(";").map((tag) => tag.trim());
  const key = tags.find((tag) => /^p\s*=/.test(tag));
  return key?.slice(key.indexOf("=") + 1).replace(/\s+/g, "");
};

function faultOfDkim(found: readonly string[], value: string): string | null {
  const keys = found.filter((text) => keyOf(text) !== undefined);
  if (keys.length === 0) return `no DKIM key; found ${quoted(found)}`;
  if (keys.length > 1) return `found ${keys.length} DKIM keys, but only one is allowed`;
  const [key] = keys as [string];
  if (keyOf(key) === "") return "the DKIM key is empty, which means revoked";
  if (keyOf(key) !== keyOf(value)) return `found another DKIM key: ${quoted(keys)}`;
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
  const shown = texts.slice(0, shownRecords).map((text) => JSON.stringify(cutText(text, shownLength)));
  const more = texts.length - shown.length;
  return more > 0 ? `${shown.join(", ")} and ${more} more` : shown.join(", ");
}
