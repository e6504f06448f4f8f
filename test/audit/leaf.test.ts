import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { expect } from "chai";
import { digestOf, entryOf } from "#src/audit/leaf.ts";
import { auditFieldsByCategory, concealedStreams } from "#streams/auditFieldsByCategory.ts";
import type { Recorded } from "#streams/event.ts";

type Sample = Pick<Recorded, "type" | "schemaVersion" | "data" | "metadata">;

const folder = new URL("../../streams/", import.meta.url);
const categories = readdirSync(folder, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? entry.name : [],
);

/** A sample and its place among those of its type: lines stay the same when samples of other types are added. */
type PlacedSample = Sample & { nth: number };

function samplesOf(category: string): PlacedSample[] {
  const samples: Sample[] = JSON.parse(readFileSync(new URL(`${category}/samples.json`, folder), "utf8"));
  const seen = new Map<string, number>();
  return samples.map((sample) => {
    const nth = seen.get(sample.type) ?? 0;
    seen.set(sample.type, nth + 1);
    return { ...sample, nth };
  });
}

const key = Buffer.alloc(32, 7);

const recorded = (category: string, { nth, ...sample }: PlacedSample): Recorded => ({
  ...sample,
  id: `${createHash("sha256").update(`${sample.type} ${nth}`).digest("hex").slice(0, 8)}-0000-7000-8000-000000000000`,
  stream: `${category}-0199aaaa-0000-7000-8000-000000000001`,
  revision: nth,
  position: nth,
});

/** The entry of each sample, one a line. Once released, a line never changes: entries made before could not be verified any more. */
const stored = new Map(
  readFileSync(new URL("entries.jsonl", import.meta.url), "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line): [string, string] => {
      const { id, type } = JSON.parse(line);
      return [`${type} ${id}`, line];
    }),
);

describe("audit entries", () => {
  for (const category of categories)
    it(`events of ${category} give the stored entries`, () => {
      for (const sample of samplesOf(category)) {
        const event = recorded(category, sample);
        const line = entryOf(event, key).bytes.toString();
        expect(line, "add this line to test/audit/entries.jsonl if the sample is new").to.equal(
          stored.get(`${event.type} ${event.id}`),
        );
      }
    });

  for (const category of categories)
    it(`every text, array and object in events of ${category} is declared open or salted`, () => {
      const fields = auditFieldsByCategory[category]!;
      for (const { type, data } of samplesOf(category)) {
        const structured = Object.entries(data).filter(
          ([, value]) => ["string", "object"].includes(typeof value) && value !== null,
        );
        for (const [name] of structured) expect(fields, `${type}.${name}`).to.have.property(name);
      }
    });

  it("an entry holds no address, name, IP address or text of its event, but a digest for each", () => {
    for (const category of categories)
      for (const sample of samplesOf(category)) {
        const { bytes, disclosures } = entryOf(recorded(category, sample), key);
        const { _sd } = JSON.parse(bytes.toString());
        expect(_sd).to.have.members(disclosures.map(digestOf));
        expect(bytes.toString(), sample.type).not.to.match(/@|\.example|127\.0\.0\.1|192\.0\.2\.|203\.0\.113\./);
        const shown = JSON.stringify(JSON.parse(bytes.toString()).data);
        for (const text of textsOf(disclosures.map(([, , value]) => value)))
          expect(shown, `${sample.type}: ${text}`).not.to.include(text);
      }
  });

  it("an entry has a digest in place of a stream's name that can be computed from an address", () => {
    for (const category of concealedStreams)
      for (const sample of samplesOf(category)) {
        const event = recorded(category, sample);
        const { bytes, disclosures } = entryOf(event, key);
        expect(bytes.toString(), sample.type).not.to.include(event.stream);
        expect(JSON.parse(bytes.toString()).stream).to.match(new RegExp(`^${category}-[0-9a-f]{64}$`));
        expect(disclosures.find(([, path]) => path === "/stream_name")?.[2]).to.equal(event.stream);
      }
  });

  it("a change of any value of an event changes its entry", () => {
    for (const category of categories)
      for (const sample of samplesOf(category)) {
        const event = recorded(category, sample);
        const before = entryOf(event, key).bytes.toString();
        for (const changed of changesOf(event))
          expect(entryOf(changed, key).bytes.toString(), JSON.stringify(changed)).not.to.equal(before);
      }
  });

  it("a salt differs by event, path and workspace, so that equal values have different digests", () => {
    const [sample] = samplesOf("installation");
    const entries = [
      entryOf(recorded("installation", { ...sample!, nth: 1 }), key),
      entryOf(recorded("installation", { ...sample!, nth: 2 }), key),
      entryOf(recorded("installation", { ...sample!, nth: 1 }), Buffer.alloc(32, 8)),
    ];
    const salts = entries.flatMap(({ disclosures }) => disclosures.map(([salt]) => salt));
    expect(new Set(salts).size).to.equal(salts.length);
  });

  it("an entry of more than 60,000 bytes has a digest in place of its longest array", () => {
    const sample = samplesOf("slots").find(({ type }) => type === "SlotTaken")!;
    const vacated = Array.from({ length: 4_000 }, (_, n) => `holder-${n}-0199aaaa`);
    const { bytes, disclosures } = entryOf(recorded("slots", { ...sample, data: { ...sample.data, vacated } }), key);
    expect(bytes.length).to.be.below(60_000);
    expect(disclosures.map(([, path]) => path)).to.include("/data/vacated");
  });

  it("an entry is made from the stored form of an event that was brought to a newer version", () => {
    const [sample] = samplesOf("workspace");
    const event = recorded("workspace", sample!);
    const { type, schemaVersion, data } = event;
    const upcast = {
      ...event,
      schemaVersion: 2,
      data: { ...data, plan: "other" },
      stored: { type, schemaVersion, data },
    };
    expect(entryOf(upcast, key).bytes).to.deep.equal(entryOf(event, key).bytes);
  });

  it("a text with half a character is written as the replacement character", () => {
    const [sample] = samplesOf("installation");
    const { disclosures } = entryOf(recorded("installation", { ...sample!, data: { reason: "a\ud800b" } }), key);
    expect(disclosures.map(digestOf)).to.have.length(2);
  });
});

/** The texts within values that name somebody or something: with a letter, of four characters and more. */
const textsOf = (value: unknown): string[] =>
  typeof value === "string"
    ? /[g-z]/i.test(value) && value.length > 8
      ? [value]
      : []
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(textsOf)
      : [];

/** The event with each of its values changed, one at a time. */
function* changesOf(event: Recorded): Generator<Recorded> {
  for (const name of ["id", "stream", "type"] as const) yield { ...event, [name]: `${event[name]}x` };
  yield { ...event, revision: event.revision + 1 };
  yield { ...event, schemaVersion: event.schemaVersion + 1 };
  for (const name of ["at", "causationId", "correlationId"] as const)
    yield { ...event, metadata: { ...event.metadata, [name]: `${event.metadata[name]}x` } };
  for (const name of Object.keys(event.metadata.actor))
    yield { ...event, metadata: { ...event.metadata, actor: { ...event.metadata.actor, [name]: "somebody else" } } };
  for (const name of Object.keys(event.data)) yield { ...event, data: { ...event.data, [name]: "changed by a test" } };
}
