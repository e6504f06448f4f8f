import type { ParsedMail } from "#src/mail/in/parse.ts";
import { crashPoint } from "#src/platform/crashPoints.ts";
import { isHeld, type PendingFiling } from "#streams/filing/decider.ts";
import type { FilingDecision } from "#streams/filing/events.ts";
import type { ThreadCommand } from "#streams/thread/decider.ts";
import type { InboundMessage, MessageAttachment } from "#streams/thread/events.ts";
import { contactOf } from "../../contacts.ts";
import type { Dependencies } from "../../dependencies.ts";
import type { Cause } from "../../handle.ts";
import { contactId, derivedId } from "../../ids.ts";
import { searchTextOf } from "../../searchText.ts";
import { type CleanMail, withoutApprovalLinks } from "../leakedLinks.ts";
import type { ReadMail } from "../readMail.ts";
import { NoLongerReadable } from "./failures.ts";
import { emptyContent, shortenHeaders } from "./smallestForm.ts";

/** Maximum size in bytes, as JSON, of a body that is stored in the event. Larger bodies are in the blob store. */
const inlineBodyBytes = 48 * 1024;

/** A filing decision, and the mail as it may be shown. */
type FilingToApply = { decision: PendingFiling } & CleanMail;

/**
 * Files a mail on the decided thread, without the approval links that it contains: as a message, or as a marker if the mail is held or
 * quarantined.
 */
export async function putOnThread(
  deps: Dependencies,
  { decision, mail }: { decision: PendingFiling; mail: ReadMail },
  cause: Cause,
): Promise<void> {
  if (decision.disposition === "reaction") return fileReaction(deps, { decision, mail }, cause);
  const { unreadable } = mail.parsed;
  // The mail could be read when its filing was decided, so its content must not be shown as empty.
  const isLost = unreadable !== null && decision.disposition === "threaded" && decision.quarantined === undefined;
  if (isLost) throw new NoLongerReadable(unreadable);
  const shown = decision.quarantined === undefined ? mail : { event: shortenHeaders(mail.event), parsed: emptyContent };
  // Close the links before anyone can read the mail. If filing is interrupted after this, they stay closed, and the next try finds them
  // again.
  const { messageId, threadId, absorbs, opensThread } = decision;
  const filed = { messageId, threadIds: [threadId, ...absorbs], opensThread };
  const clean = await withoutApprovalLinks(deps, { mail: shown, filed });
  const filing = { decision, ...clean };
  return isHeld(decision) ? holdMessage(deps, filing, cause) : fileMessage(deps, filing, cause);
}

async function fileMessage(
  deps: Dependencies,
  { decision, mail, approvalLinks }: FilingToApply,
  cause: Cause,
): Promise<void> {
  const { event, parsed } = mail;
  const { headers, identityId, workspaceId } = event.data;
  const sender = headers.from && (await contactOf(deps, workspaceId, headers.from.address));
  const notes = notesOf(decision, mail);
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
    classification: decision.classification ?? headers.classification,
    ...kindOfMessage(decision),
    rawSha256: event.data.rawSha256,
    ...(await storeBody(deps, parsed)),
    attachments: await storeAttachments(deps, decision.messageId, parsed),
    quarantined: decision.disposition === "quarantined",
    ...(sender?.status === "blocked" && { fromBlockedContact: true }),
    ...(approvalLinks && { approvalLinks }),
    ...forwarding(event),
    ...(notes.length > 0 && { notes }),
  };
  const reviewReason = decision.quarantined === undefined ? decision.reviewReason : "a mail that could not be recorded";
  const command = { type: "FileMessage", message, opens: opening(decision, event), reviewReason } as const;
  await onItsThread(deps, { decision, event, command }, cause);
}

/** The addresses that forwarded a mail. A list's post names whom the list delivered it to. */
function forwarding({ data: { headers, envelope } }: ReadMail["event"]): Pick<InboundMessage, "forwardedFrom"> {
  const { forwardedFrom = [], classification } = headers;
  const others = forwardedFrom.filter((address) => address !== envelope.to.toLowerCase());
  return others.length === 0 || classification === "list" ? {} : { forwardedFrom: others };
}

/** The fields of a message that say whose it is, as filing decided. */
const kindOfMessage = ({ kind, sentBy }: FilingDecision) => ({ ...(kind && { kind }), ...(sentBy && { sentBy }) });

const notesOf = ({ kind }: FilingDecision, { event, parsed: { unreadable, notes } }: ReadMail): string[] => [
  ...(kind === "altered_copy" ? [cameBackAltered(event.data.envelope.from)] : []),
  ...(unreadable === null ? [] : [`The mail could not be read: ${unreadable}. The whole mail is in its source.`]),
  ...notes,
];

/** `broughtBy`: the address that the delivering server named as sender; "" if it named none. */
const cameBackAltered = (broughtBy: string): string =>
  `This is a mail of ours that came back with other words or files in it: somebody on its way added them.${broughtBy === "" ? "" : ` It was brought by ${broughtBy}.`}`;

/** Records a reaction at the message of ours that it is about. */
async function fileReaction(
  deps: Dependencies,
  { decision, mail: { event } }: { decision: PendingFiling; mail: ReadMail },
  cause: Cause,
): Promise<void> {
  // A reaction that cannot be recorded stays in the ledger alone.
  if (decision.quarantined !== undefined) return;
  const { identityId, headers } = event.data;
  const { messageId, deliveryId, number, emoji = "" } = decision;
  const said = { emoji, from: headers.from?.address ?? "", at: event.metadata.at };
  const command = { type: "FileReaction", reaction: { identityId, messageId, deliveryId, number, ...said } } as const;
  await onItsThread(deps, { decision, event, command }, cause);
}

/** Records a held message on its thread. The message makes drafts stale, but none of its content is shown before its release. */
async function holdMessage(deps: Dependencies, { decision, mail }: FilingToApply, cause: Cause): Promise<void> {
  const { event } = mail;
  const { identityId, headers } = event.data;
  const { messageId, deliveryId, number } = decision;
  const { from } = headers;
  const classification = decision.classification ?? headers.classification;
  const { kind } = kindOfMessage(decision);
  const received = { receivedAt: event.metadata.at, classification, ...(kind && { kind }), from };
  const held = { identityId, messageId, deliveryId, number, ...received };
  const command = { type: "HoldMessage", held, opens: opening(decision, event) } as const;
  await onItsThread(deps, { decision, event, command }, cause);
}

/** Returns the data of the thread that the mail opens; null if the mail joins an existing thread. */
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
  return { body: null, bodyBlob: await deps.blobs.put(bytes), searchText: searchTextOf(parsed.bodyText ?? "") };
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
