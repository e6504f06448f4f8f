import { createHash } from "node:crypto";
import { mboxOf } from "#src/audit/mbox.ts";
import { contentJson } from "#src/mail/out/content.ts";
import { BlobCorrupt } from "#src/platform/blobs/blobs.ts";
import type { StoredContent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import type { Dependencies } from "../dependencies.ts";
import type { EvidenceFile } from "./draftEvidence.ts";
import { type ExportedEvents, type ExportScope, eventsInScope } from "./exportScope.ts";
import { mayReadMail } from "./mayReadMail.ts";
import { disclosureLines, type NumberedEntry, policyOf, proverOf } from "./proofs.ts";

type ExportQuery = {
  workspaceId: string;
  scope: ExportScope;
  /** True if the reader may see mail that may contain approval links: with one, anyone can decide. */
  mayReadLinks: boolean;
  /** The bytes of `verify.mjs`. */
  verifier: Buffer;
};

/** An export of many events. `maxEntries`: their greatest possible number. */
export type AuditExport = { signedAt: Date; maxEntries: number; files: AsyncIterable<EvidenceFile> };

/**
 * Exports the events of a scope as proven entries, with their values and mails. Each file is read from the log while it is written, so that
 * the export needs no more memory the longer it is. Throws Behind, HeadContradicted.
 */
export async function auditExport(deps: Dependencies, query: ExportQuery): Promise<AuditExport> {
  const { workspaceId, scope } = query;
  const prover = await proverOf(deps, workspaceId, await deps.store.head());
  const { head } = prover;
  const { read, atMost } = await eventsInScope(deps, { workspaceId, upTo: head.position, size: head.size }, scope);
  const counts = new Map<string, number>();
  const missing: MissingPart[] = [];

  async function* entries(): AsyncGenerator<Buffer> {
    for await (const events of read()) {
      const lines = (await prover.prove(events)).map(({ entry, bytes, hashes, event }) => {
        counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
        return JSON.stringify({ entry, hashes: hashes.map((each) => each.toString("base64")), text: `${bytes}` });
      });
      yield linesOf(lines);
    }
  }
  /** A received mail's own headers may hold approval links, which are removed only from its thread's copy. */
  const readable = (entry: NumberedEntry): NumberedEntry =>
    query.mayReadLinks
      ? entry
      : { ...entry, disclosures: entry.disclosures.filter(([, path]) => path !== "/data/headers") };

  async function* disclosures(): AsyncGenerator<Buffer> {
    for await (const events of read())
      yield Buffer.from((await prover.entriesOf(events)).map((entry) => disclosureLines(readable(entry))).join(""));
  }

  async function* files(): AsyncGenerator<EvidenceFile> {
    yield { name: "README.txt", bytes: Buffer.from(readme(scope, head.size)) };
    yield { name: "verify.mjs", bytes: query.verifier };
    yield { name: "policy", bytes: Buffer.from(policyOf(prover, deps.settings.auditWitnesses)) };
    yield { name: "checkpoint", bytes: Buffer.from(head.checkpoint) };
    yield { name: "entries.jsonl", bytes: entries() };
    yield { name: "disclosures.jsonl", bytes: disclosures() };
    yield { name: "contents.jsonl", bytes: contents(deps, read, missing) };
    yield { name: "mail.mbox", bytes: mailbox(deps, query, { read, missing }) };
    yield { name: "counts.csv", bytes: csvOf([["type", "entries"], ...[...counts].sort()]) };
    yield { name: "errors.csv", bytes: csvOf([["event", "sha256", "error"], ...missing]) };
  }
  return { signedAt: head.signedAt, maxEntries: atMost, files: withSums(files()) };
}

/** A part that an export should have and has not: the id of its event, its SHA-256, and why. */
type MissingPart = [eventId: string, sha256: string, error: string];

const linesOf = (lines: readonly string[]): Buffer => Buffer.from(lines.map((line) => `${line}\n`).join(""));

const csvOf = (rows: readonly (readonly (string | number)[])[]): Buffer =>
  linesOf(rows.map((row) => row.map((value) => `"${String(value).replaceAll('"', '""')}"`).join(",")));

/** The contents of all versions of drafts, as canonical JSON whose SHA-256 is the content hash. */
async function* contents(
  deps: Dependencies,
  read: ExportedEvents["read"],
  missing: MissingPart[],
): AsyncGenerator<Buffer> {
  for await (const events of read())
    for (const { id, type, data } of events) {
      if (type !== "DraftSubmitted" && type !== "DraftEdited") continue;
      const { content, contentBlob } = data as StoredContent;
      const stored = content ?? (await storedBytes(deps, contentBlob as string));
      if (typeof stored === "string") missing.push([id, String(data.contentSha256), stored]);
      else yield linesOf([contentJson(Buffer.isBuffer(stored) ? JSON.parse(`${stored}`) : stored)]);
    }
}

/** Returns stored bytes, or says why there are none. */
async function storedBytes({ blobs }: Dependencies, sha256: string): Promise<Buffer | string> {
  try {
    return (await blobs.get(sha256)) ?? "it is not stored any more";
  } catch (error) {
    if (error instanceof BlobCorrupt) return "the stored bytes have another hash";
    throw error;
  }
}

const needsScope = "it may contain approval links: reading it needs the scope write:approvals";

/** The mails that came in and that were handed over, each once. */
async function* mailbox(
  deps: Dependencies,
  query: ExportQuery,
  { read, missing }: { read: ExportedEvents["read"]; missing: MissingPart[] },
): AsyncGenerator<Buffer> {
  const written = new Set<string>();
  for await (const events of read())
    for (const event of events) {
      const sha256 = mailOf(event);
      if (sha256 === undefined || written.has(sha256)) continue;
      const mail = (await mayReadMail(deps, query, event)) ? await storedBytes(deps, sha256) : needsScope;
      if (typeof mail === "string") missing.push([event.id, sha256, mail]);
      else yield mboxOf(mail, event.metadata.at);
      written.add(sha256);
    }
}

function mailOf({ type, data }: Recorded): string | undefined {
  if (type === "MessageReceived") return data.rawSha256 as string;
  return type === "DeliveryStarted" ? (data.mimeSha256 as string) : undefined;
}

/** Adds the file SHA256SUMS, which `sha256sum -c` checks. */
async function* withSums(files: AsyncIterable<EvidenceFile>): AsyncGenerator<EvidenceFile> {
  const sums: string[] = [];
  for await (const { name, bytes } of files) {
    const hash = createHash("sha256");
    yield { name, bytes: hashed(Buffer.isBuffer(bytes) ? [bytes] : bytes, hash) };
    sums.push(`${hash.digest("hex")}  ${name}`);
  }
  yield { name: "SHA256SUMS", bytes: linesOf(sums) };
}

async function* hashed(
  parts: Iterable<Buffer> | AsyncIterable<Buffer>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Buffer> {
  for await (const part of parts) {
    hash.update(part);
    yield part;
  }
}

function readme({ about, from, to }: ExportScope, size: number): string {
  const whose =
    about === null ? "all events of the workspace" : "threadId" in about ? `thread ${about.threadId}` : about.address;
  return `An export of Countersign about: ${whose}; from ${from ?? "the beginning"} to ${to ?? "the head"}.
It is complete at the head of ${size} entries that the file checkpoint has.

entries.jsonl      a line for each event: its number in the tree, the hashes of its proof, the entry
disclosures.jsonl  the values behind the entries' digests
contents.jsonl     each version of each draft, as canonical JSON whose SHA-256 is its content hash
mail.mbox          the mails that came in and that were handed over (mboxrd)
counts.csv         the number of entries of each type of event
errors.csv         what should be here and is not, and why
SHA256SUMS         checks the files: sha256sum -c SHA256SUMS
verify.mjs         checks entries, values and mails: node verify.mjs
`;
}
