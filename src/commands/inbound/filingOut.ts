import { crashPoint } from "#src/crashPoints.ts";
import type { ParsedMail } from "#src/mail/in/parse.ts";
import { isHeld } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { ThreadCommand } from "#streams/thread/decider.ts";
import type { InboundMessage, MessageAttachment } from "#streams/thread/events.ts";
import { contactOf } from "../contacts.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { contactId, derivedId } from "../ids.ts";
import { absorbThread, onItself } from "../threads/threads.ts";
import type { ReadMail } from "./readMail.ts";

/** Bodies up to this many bytes of JSON are stored in the event; larger ones in the blob store. */
const inlineBodyBytes = 48 * 1024;
/** Of a body in the blob store: what full-text search shall find. */
const searchedCharacters = 8_000;

/**
 * Does what filing decisions say, in the order of their numbers on each thread, several threads at once. Every step may have been done
 * before: threads refuse numbers not above their newest.
 */
export async function carryOut(
  deps: Dependencies,
  { decisions, mailOf }: { decisions: readonly FilingDecision[]; mailOf(decision: FilingDecision): Promise<ReadMail> },
  cause: Cause,
): Promise<void> {
  const turns = new Map<string, Promise<void>>();
  for (const decision of decisions) {
    if (decision.disposition === "duplicate") continue;
    if (decision.absorbs.length > 0) {
      // A merge touches several threads: everything before it has to be filed.
      await Promise.all(turns.values());
      await mergeThreads(deps, decision, cause);
    }
    const before = turns.get(decision.threadId) ?? Promise.resolve();
    const reading = mailOf(decision);
    turns.set(
      decision.threadId,
      Promise.all([reading, before]).then(([mail]) =>
        isHeld(decision) ? holdMessage(deps, { decision, mail }, cause) : fileMessage(deps, { decision, mail }, cause),
      ),
    );
  }
  await Promise.all(turns.values());
}

/** Freezes first, then tells the survivor: a caller who is redirected from a frozen thread finds everything there. */
async function mergeThreads(deps: Dependencies, decision: FilingDecision, cause: Cause): Promise<void> {
  for (const absorbedId of decision.absorbs) {
    const freeze = { type: "FreezeThread", survivorId: decision.threadId, number: decision.number } as const;
    await onItself(deps, { threadId: absorbedId, command: freeze }, cause);
    crashPoint("filing:frozen");
    await absorbThread(deps, absorbedId, cause);
    crashPoint("filing:absorbed");
  }
}

/** What was decided about a mail, and the mail. */
type Filing = { decision: FilingDecision; mail: ReadMail };

async function fileMessage(deps: Dependencies, { decision, mail }: Filing, cause: Cause): Promise<void> {
  const { event, parsed } = mail;
  const { headers, identityId, workspaceId } = event.data;
  const sender = headers.from && (await contactOf(deps, workspaceId, headers.from.address));
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
  };
  const { reviewReason } = decision;
  const command = { type: "FileMessage", message, opens: opening(decision, event), reviewReason } as const;
  await onItsThread(deps, { decision, event, command }, cause);
}

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
