import { createHmac, hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { AuditField } from "#streams/auditFields.ts";
import { auditFieldsByCategory, concealedStreams } from "#streams/auditFieldsByCategory.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";

/** A value that an entry replaced with a salted digest: salt (base64url), JSON pointer into the event, and the value (RFC 9901, 4.2). */
export type Disclosure = [salt: string, path: string, value: unknown];

/** An audit entry: its bytes (RFC 8785 canonical JSON), the values behind its digests, and the paths of those that no evidence discloses. */
export type AuditEntry = { bytes: Buffer; disclosures: Disclosure[]; secrets: ReadonlySet<string> };

/** Version of the form of an entry. Stored vectors (test/audit/entries.jsonl) hold it. */
const formVersion = 1;

/** Maximum bytes of an entry: an entry bundle gives each length in 16 bits. */
const maxBytes = 60_000;

const saltBytes = 16;

/** Returns the canonical JSON of a value. A lone surrogate, which has no UTF-8, counts as U+FFFD. */
function canonicalJson(value: unknown): string {
  try {
    return canonicalize(value)!;
  } catch {
    return canonicalize(wellFormed(value))!;
  }
}

const wellFormed = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value).replace(/\\\\|\\u[dD][89a-fA-F][0-9a-fA-F]{2}/g, (found) =>
      found === "\\\\" ? found : "\ufffd",
    ),
  );

/** Returns a disclosure as canonical JSON. */
export const disclosureText = (disclosure: Disclosure): string => canonicalJson(disclosure);

/** Returns the disclosure's text in base64url, whose digest is in the entry. */
const encodeDisclosure = (disclosure: Disclosure): string =>
  Buffer.from(disclosureText(disclosure)).toString("base64url");

export const digestOf = (disclosure: Disclosure): string => hash("sha256", encodeDisclosure(disclosure), "base64url");

/**
 * Makes the audit entry of a stored event. Fields declared `open` are copied; every other value is replaced with a salted digest. The same
 * event and key always give the same entry. `saltKey`: the key of the workspace, 32 bytes.
 */
export function entryOf(event: Recorded, saltKey: Buffer): AuditEntry {
  const { id, stream, revision, metadata } = event;
  const { type, schemaVersion, data } = event.stored ?? event;
  const disclosures: Disclosure[] = [];
  const secrets = new Set<string>();
  const keyed = (text: string): Buffer => createHmac("sha256", saltKey).update(text).digest();
  const conceal = (path: string, value: unknown, isSecret = false): void => {
    const salt = keyed(`${id}\0${path}`).subarray(0, saltBytes);
    if (isSecret) secrets.add(path);
    disclosures.push([salt.toString("base64url"), path, value]);
  };
  const { kind, ...person } = metadata.actor;
  conceal("/actor", person);
  const category = categoryOf(stream);
  // Equal names stay equal: a stream that can be computed from an address is named by a keyed hash.
  const isConcealed = concealedStreams.has(category);
  if (isConcealed) conceal("/stream_name", stream);
  const shownStream = isConcealed ? `${category}-${keyed(stream).toString("hex")}` : stream;
  const shown = showOpen(data, auditFieldsByCategory[category] ?? {}, { path: "/data", conceal });
  const write = (): Buffer =>
    Buffer.from(
      canonicalJson({
        v: formVersion,
        ...{ id, stream: shownStream, revision, type, schema_version: schemaVersion },
        ...{ at: metadata.at, actor: { kind }, causation_id: metadata.causationId },
        ...{ correlation_id: metadata.correlationId, data: shown, _sd: disclosures.map(digestOf).sort() },
      }),
    );
  let bytes = write();
  while (bytes.length > maxBytes && concealLongest(shown, conceal)) bytes = write();
  return { bytes, disclosures, secrets };
}

type Concealing = { path: string; conceal(path: string, value: unknown, isSecret?: boolean): void };

/** Returns the open part of an object; conceals the rest. */
function showOpen(
  data: Readonly<Record<string, unknown>>,
  fields: Exclude<AuditField, string>,
  { path, conceal }: Concealing,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(data)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : "salted";
    const own = `${path}/${escapePointer(name)}`;
    if (value === undefined) continue;
    if (value === null || typeof value === "number" || typeof value === "boolean" || field === "open")
      shown[name] = value;
    else if (typeof field === "object" && typeof value === "object" && !Array.isArray(value))
      shown[name] = showOpen(value as Record<string, unknown>, field, { path: own, conceal });
    else conceal(own, value, field === "secret");
  }
  return shown;
}

/** Escapes a name as a part of a JSON pointer (RFC 6901). */
const escapePointer = (name: string): string => name.replaceAll("~", "~0").replaceAll("/", "~1");

/** Conceals the longest array or object of an entry that is too long. Returns false if there is none left. */
function concealLongest(shown: Record<string, unknown>, conceal: Concealing["conceal"]): boolean {
  const [longest] = Object.entries(shown)
    .filter(([, value]) => typeof value === "object" && value !== null)
    .map(([name, value]) => ({ name, value, length: JSON.stringify(value).length }))
    .sort((a, b) => b.length - a.length);
  if (!longest) return false;
  delete shown[longest.name];
  conceal(`/data/${escapePointer(longest.name)}`, longest.value);
  return true;
}
