import { contentJson } from "#src/mail/out/content.ts";
import type { Recorded } from "#streams/event.ts";
import type { MessagePlace } from "#streams/thread/events.ts";
import { threadStream } from "#streams/thread/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { draftHistory, versionContent } from "../drafts/draftHistories.ts";
import { explainFromLog } from "../drafts/life/explainFromLog.ts";
import { toPlainText } from "../drafts/life/phrases.ts";
import { evidencePage, type ShownVersion } from "./evidencePage.ts";
import { mayReadMail } from "./mayReadMail.ts";
import { disclosureLines, type ProvenEntry, policyOf, proofFile, proverOf } from "./proofs.ts";

/** A file of an archive: its bytes, or its parts as they are made. */
export type EvidenceFile = { name: string; bytes: Buffer | AsyncIterable<Buffer> };

/** Files about one draft that `verify.mjs` checks without this service. `signedAt`: time of the head that proves them. */
export type DraftEvidence = { signedAt: Date; files: AsyncIterable<EvidenceFile> };

type EvidenceQuery = {
  workspaceId: string;
  draftId: string;
  /** True if the reader may see mail that may contain approval links: with one, anyone can decide. */
  mayReadLinks: boolean;
  /** The bytes of `verify.mjs`. */
  verifier: Buffer;
};

/**
 * Collects the evidence of a draft: each event of its history as a proven entry, with the mails and the content whose hashes the events
 * name. Throws Behind, HeadContradicted; mails are read while the files are.
 */
export async function draftEvidence(deps: Dependencies, query: EvidenceQuery): Promise<DraftEvidence> {
  const { workspaceId, draftId } = query;
  const history = await draftHistory(deps, draftId);
  const answered = await answeredMessage(deps, history);
  const events = answered ? [...history, answered] : history;
  const prover = await proverOf(deps, workspaceId, Math.max(...events.map(({ position }) => position)));
  const entries = await prover.prove(events);
  const shown = await shownVersion(deps, draftId, history);
  const answer = toPlainText(await explainFromLog(deps, history));

  async function* files(): AsyncGenerator<EvidenceFile> {
    const { head } = prover;
    yield fileOf("index.html", evidencePage({ draftId, answer, prover, entries, shown }));
    yield { name: "verify.mjs", bytes: query.verifier };
    yield fileOf("policy", policyOf(prover, deps.settings.auditWitnesses));
    yield fileOf("checkpoint", head.checkpoint);
    for (const proven of entries) {
      yield { name: `entries/${proven.entry}.json`, bytes: proven.bytes };
      yield fileOf(`proofs/${proven.entry}.tlog-proof`, proofFile(proven, head));
    }
    yield fileOf("disclosures.jsonl", entries.map(disclosureLines).join(""));
    yield fileOf("content.json", contentJson(shown.content));
    yield* mailsOf(deps, query, entries);
  }
  return { signedAt: prover.head.signedAt, files: files() };
}

const fileOf = (name: string, text: string): EvidenceFile => ({ name, bytes: Buffer.from(text) });

/** Returns the event that received the mail which a draft answers, if it answers one. */
async function answeredMessage(deps: Dependencies, [submitted]: readonly Recorded[]): Promise<Recorded | undefined> {
  const place = submitted?.data.answers as MessagePlace | null | undefined;
  return place ? (await deps.store.read(threadStream(place.threadId), place.revision, 1))[0] : undefined;
}

/** Returns the version that was handed over last; before that the one that was queued or approved last, else the newest. */
async function shownVersion(deps: Dependencies, draftId: string, history: readonly Recorded[]): Promise<ShownVersion> {
  const decided =
    history.findLast(({ type }) => type === "DeliveryStarted") ??
    history.findLast(({ type }) => type === "DraftQueued" || type === "DraftApproved") ??
    history.findLast(({ type }) => type === "DraftEdited");
  const version = (decided?.data.version as number | undefined) ?? 1;
  const content = await versionContent(deps, draftId, version);
  if (!content)
    throw new Error(`version ${version} of the draft ${draftId} is named by an event, but is not in its stream`);
  return { version, ...content };
}

/** Yields the mails that were handed over, byte for byte, and the mail that the draft answers if the reader may see it. */
async function* mailsOf(
  deps: Dependencies,
  query: EvidenceQuery,
  entries: readonly ProvenEntry[],
): AsyncGenerator<EvidenceFile> {
  const started = entries.filter(({ event }) => event.type === "DeliveryStarted");
  for (const { entry, event } of started) {
    const name = entry === started.at(-1)?.entry ? "sent.eml" : `sent-${entry}.eml`;
    const bytes = await deps.blobs.get(event.data.mimeSha256 as string);
    if (bytes) yield { name, bytes };
  }
  const received = entries.find(({ event }) => event.type === "MessageReceived")?.event;
  if (!received || !(await mayReadMail(deps, query, received))) return;
  const bytes = await deps.blobs.get(received.data.rawSha256 as string);
  if (bytes) yield { name: "answered.eml", bytes };
}
