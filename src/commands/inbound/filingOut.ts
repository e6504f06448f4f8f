import { crashPoint } from "#src/crashPoints.ts";
import type { ParsedMail } from "#src/mail/in/parse.ts";
import { isHeld, type PendingFiling } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { ThreadCommand } from "#streams/thread/decider.ts";
import type { InboundMessage, MessageAttachment } from "#streams/thread/events.ts";
import { contactOf } from "../contacts.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { contactId, derivedId } from "../ids.ts";
import { absorbThread, onItself } from "../threads/threads.ts";
import { type CleanMail, withoutApprovalLinks } from "./leakedLinks.ts";
import { noContent, shortened } from "./quarantined.ts";
import type { ReadMail } from "./readMail.ts";
import { type Failure, isInfrastructure, NoLongerReadable } from "./unrecordable.ts";

/** Bodies up to this many bytes of JSON are stored in the event; larger ones in the blob store. */
const inlineBodyBytes = 48 * 1024;
/** Of a body in the blob store: what full-text search shall find. */
const searchedCharacters = 8_000;

/** What became of decisions: those that could not be carried out, and those that wait behind one of these. */
export type CarriedOut = { failures: Failure[]; waiting: PendingFiling[] };

type Carrying = { decisions: readonly PendingFiling[]; mailOf(decision: PendingFiling): Promise<ReadMail> };

/**
 * Does what filing decisions say, in the order of their numbers on each thread, several threads at once. Every step may have been done
 * before: threads refuse numbers not above their newest. Throws if a mail cannot be read for now.
 */
export async function carryOut(deps: Dependencies, { decisions, mailOf }: Carrying, cause: Cause): Promise<CarriedOut> {
  const failures: Failure[] = [];
  const waiting: PendingFiling[] = [];
  const turns = new Map<string, Promise<unknown>>();
  const failedOn = new Set<string>();

  /** Behind a mail that failed nothing may reach its thread. */
  const inTurn = async (decision: PendingFiling, work: () => Promise<void>): Promise<void> => {
    if (failedOn.has(decision.threadId)) return void waiting.push(decision);
    await work().catch((error: unknown) => {
      failedOn.add(decision.threadId);
      failures.push({ decision, error });
    });
  };

  for (const [index, decision] of decisions.entries()) {
    if (decision.disposition === "duplicate") continue;
    if (decision.absorbs.length > 0) {
      // A merge touches several threads: everything before it has to be filed.
      await allEnded(turns.values());
      if (failures.length > 0) {
        waiting.push(...decisions.slice(index).filter(({ disposition }) => disposition !== "duplicate"));
        break;
      }
      await inTurn(decision, () => mergeThreads(deps, decision, cause));
    }
    const before = turns.get(decision.threadId);
    const reading = mailOf(decision);
    // Looked at when its turn comes.
    reading.catch(() => {});
    turns.set(
      decision.threadId,
      (async () => {
        await before;
        const mail = await reading;
        await inTurn(decision, () => file(deps, { decision, mail }, cause));
      })(),
    );
  }
  await allEnded(turns.values());
  return { failures, waiting };
}

/** Rejects with the first that does, but not before all have ended. */
async function allEnded(turns: Iterable<Promise<unknown>>): Promise<void> {
  const ends = await Promise.allSettled(turns);
  const rejected = ends.find((end) => end.status === "rejected");
  if (rejected) throw rejected.reason;
}

/**
 * Freezes first, then tells the survivor: a caller who is redirected from a frozen thread finds everything there. For a quarantined mail each
 * merge is done that can be: the others' threads are told all the same, and one that cannot be read or told takes no send either.
 */
async function mergeThreads(deps: Dependencies, decision: PendingFiling, cause: Cause): Promise<void> {
  for (const absorbedId of decision.absorbs) {
    try {
      const freeze = { type: "FreezeThread", survivorId: decision.threadId, number: decision.number } as const;
      await onItself(deps, { threadId: absorbedId, command: freeze }, cause);
      crashPoint("filing:frozen");
      await absorbThread(deps, absorbedId, cause);
      crashPoint("filing:absorbed");
    } catch (error) {
      if (decision.quarantined === undefined || isInfrastructure(error)) throw error;
    }
  }
}

/** What was decided about a mail, and the mail as it may be shown. */
type Filing = { decision: PendingFiling } & CleanMail;

async function file(
  deps: Dependencies,
  { decision, mail }: { decision: PendingFiling; mail: ReadMail },
  cause: Cause,
): Promise<void> {
  const { unreadable } = mail.parsed;
  // It was shown to be readable, or it would have been decided otherwise: nobody is shown an empty mail for it.
  const isLost = unreadable !== null && decision.disposition === "threaded" && decision.quarantined === undefined;
  if (isLost) throw new NoLongerReadable(unreadable);
  const shown = decision.quarantined === undefined ? mail : { event: shortened(mail.event), parsed: noContent };
  // Right before anybody can read it: what is closed here stays so if this is cut off, and is found again.
  const { messageId, threadId, absorbs, opensThread } = decision;
  const filed = { messageId, threadIds: [threadId, ...absorbs], opensThread };
  const clean = await withoutApprovalLinks(deps, { mail: shown, filed });
  const filing = { decision, ...clean };
  return isHeld(decision) ? holdMessage(deps, filing, cause) : fileMessage(deps, filing, cause);
}

async function fileMessage(deps: Dependencies, { decision, mail, approvalLinks }: Filing, cause: Cause): Promise<void> {
  const { event, parsed } = mail;
  const { headers, identityId, workspaceId } = event.data;
  const { threadId } = decision;
  // The thread is asked for in one turn with the sender, and known when its turn comes.
  const [sender] = await Promise.all([
    headers.from && contactOf(deps, workspaceId, headers.from.address),
    deps.threads.kept(threadId) ?? deps.threads.load(threadId),
  ]);
  const notes = notesOf(parsed);
  const message: InboundMessage = {
    messageId: decision.messageId,
    identityId,
    deliveryId: decision.deliveryId,
    inboxRevision: decision.inboxRevision,
    number: decision.number,
    receivedAt: event.metadata.at,
    rfcMessageId: headers.messageId,
    inReplyTo: headers.inReplyTo,
    references: headers.references,
    from: headers.from,
    replyTo: headers.replyTo,
    to: headers.to,
    cc: headers.cc,
    subject: headers.subject,
    classification: headers.classification,
    rawSha256: event.data.rawSha256,
    ...(await storeBody(deps, parsed)),
    attachments: await storeAttachments(deps, decision.messageId, parsed),
    quarantined: decision.disposition === "quarantined",
    ...(sender?.status === "blocked" && { fromBlockedContact: true }),
    ...(approvalLinks && { approvalLinks }),
    ...(notes.length > 0 && { notes }),
  };
  const reviewReason = decision.quarantined === undefined ? decision.reviewReason : "a mail that could not be recorded";
  const command = { type: "FileMessage", message, opens: opening(decision, event), reviewReason } as const;
  await onItsThread(deps, { decision, event, command }, cause);
}

const notesOf = ({ unreadable, notes }: ParsedMail): string[] =>
  unreadable === null ? notes : [`The mail could not be read: ${unreadable}. Its source has all of it.`, ...notes];

/** The customer's newer word, of which nothing is shown before it is released. */
async function holdMessage(deps: Dependencies, { decision, mail }: Filing, cause: Cause): Promise<void> {
  const { event } = mail;
  const { identityId, headers } = event.data;
  const { messageId, deliveryId, number } = decision;
  const { classification, from } = headers;
  const held = { identityId, messageId, deliveryId, number, receivedAt: event.metadata.at, classification, from };
  const command = { type: "HoldMessage", held, opens: opening(decision, event) } as const;
  await onItsThread(deps, { decision, event, command }, cause);
}

/** What is to be known of a thread that a mail opens; null if it joins one. */
function opening({ opensThread }: FilingDecision, { data }: ReadMail["event"]) {
  if (!opensThread) return null;
  const { workspaceId, identityId, headers } = data;
  const email = headers.from?.address ?? null;
  return {
    workspaceId,
    identityId,
    subject: headers.subject,
    contactEmail: email,
    contactId: email === null ? null : contactId(workspaceId, email),
  };
}

async function onItsThread(
  deps: Dependencies,
  { decision, event, command }: { decision: FilingDecision; event: ReadMail["event"]; command: ThreadCommand },
  cause: Cause,
): Promise<void> {
  await deps.threads.handle(decision.threadId, command, {
    ...cause,
    workspaceId: event.data.workspaceId,
    correlationId: event.metadata.correlationId,
    causationId: event.id,
  });
  crashPoint("filing:threaded");
}

async function storeBody(
  deps: Dependencies,
  parsed: ParsedMail,
): Promise<Pick<InboundMessage, "body" | "bodyBlob" | "searchText">> {
  if (parsed.unreadable !== null) return { body: null, bodyBlob: null, searchText: null };
  const body = { text: parsed.bodyText, html: parsed.bodyHtml, extracted: parsed.extractedText };
  const bytes = Buffer.from(JSON.stringify(body));
  if (bytes.length <= inlineBodyBytes) return { body, bodyBlob: null, searchText: null };
  const searchText = (parsed.bodyText ?? "").slice(0, searchedCharacters).toWellFormed();
  return { body: null, bodyBlob: await deps.blobs.put(bytes), searchText };
}

const storeAttachments = (deps: Dependencies, messageId: string, parsed: ParsedMail): Promise<MessageAttachment[]> =>
  Promise.all(
    parsed.attachments.map(async (attachment, index) => ({
      id: derivedId("attachment", messageId, String(index)),
      filename: attachment.filename ?? "attachment",
      contentType: attachment.contentType,
      sizeBytes: attachment.bytes.length,
      contentId: attachment.contentId,
      inline: attachment.inline,
      sha256: await deps.blobs.put(attachment.bytes),
    })),
  );
