import { proofOf } from "#src/channels/card/senderProof.ts";
import { counted } from "#src/html/counted.ts";
import type { WireMessage } from "../../present/messages.ts";
import { lossInWords, lostRecipients, namesOfKind } from "../../present/messageWords.ts";
import { pieceOf, type TextPiece } from "../bounds.ts";
import { type Fence, untrustedLine } from "../fence.ts";
import { ago } from "./ago.ts";
import { type EarlierMessages, letterOf, shownText } from "./letter.ts";

/** A message as a tool shows it: part of its own text, or of its quotations. */
export type MessageShown = { message: WireMessage; piece: TextPiece; quotedLength: number; isQuoted: boolean };

export type MessageOptions = EarlierMessages & { offset?: number; most: number; quoted?: boolean };

export function shownMessage(message: WireMessage, options: MessageOptions): MessageShown {
  const { offset = 0, most, quoted = false } = options;
  const letter = letterOf(message, options);
  const piece = pieceOf(quoted ? letter.quoted : letter.written, { offset, most, show: shownText });
  return { message, piece, quotedLength: letter.quoted.length, isQuoted: quoted };
}

/** Maximum number of attachments that are listed by name; the rest is counted. */
const maxAttachments = 5;
/** Maximum number of addresses and of reactions that are listed, and of recipients with their server's words; the rest is counted. */
const [maxListed, maxLost] = [5, 3];
/** Maximum number of characters of a server's words about a recipient. */
const maxServerWords = 160;
/** Maximum number of characters of the notes on a message. */
const maxNotes = 240;
/** Maximum number of characters of a list of addresses, with what was said of them. */
const maxAddresses = 200;

/** `place`: the message's label in the text. `decision`: for a sent message, who approved it. */
export type MessageTextOptions = { fence: Fence; now: Date; place: string; decision?: string };

export function messageText(shown: MessageShown, { fence, now, place, decision = "" }: MessageTextOptions): string {
  const { message } = shown;
  const { from_email, from_name, to_emails, cc_emails, subject, attachments } = message;
  return [
    `${place}: ${facts(message, now)}${decision === "" ? "" : `, ${decision}`}`,
    fence({
      what: `${place}, ${whoseMail(message)}`,
      fields: {
        From: from_name ? `${from_name} <${from_email}>` : from_email,
        To: listed(to_emails),
        Cc: listed(cc_emails),
        Subject: untrustedLine(subject, 200),
        Notes: untrustedLine(message.notes.join(" "), maxNotes),
        "Not delivered to": lossListed(lostRecipients(message.recipients)),
        Reactions: reactionsListed(message.reactions),
        ...Object.fromEntries(attachments.slice(0, maxAttachments).map(attachmentField)),
      },
      text: shown.piece.text === "" ? undefined : shown.piece.text,
    }),
    ...rest(shown),
  ].join("\n");
}

/** A label for the text: from whom it is. */
function whoseMail({ direction, origin }: WireMessage): string {
  if (direction === "outbound") return "sent from here";
  return origin === "external" ? "from a stranger" : "from this workspace";
}

/** Facts about the message that the service itself states. */
function facts(message: WireMessage, now: Date): string {
  const { id, direction, attachments, recipients, reactions } = message;
  const kinds = namesOfKind(message);
  const loss = lossInWords(recipients);
  const inbound = direction === "inbound";
  return [
    `message_id ${id}`,
    inbound
      ? `came in ${ago(message.received_at ?? message.created_at, now)}`
      : `our mail, ${message.sent_at === null ? "not sent yet" : `sent ${ago(message.sent_at, now)}`}`,
    ...(inbound ? [senderPhrase(message)] : []),
    ...(kinds.length > 0 ? [`kind: ${kinds.join(", ").toLowerCase()}`] : []),
    ...(message.delivery_status === null ? [] : [`delivery ${message.delivery_status}`]),
    ...(loss === null ? [] : [loss.toLowerCase()]),
    ...(reactions.length > 0 ? [counted(reactions.length, "reaction")] : []),
    ...(message.from_blocked_contact ? ["from a blocked contact"] : []),
    ...(attachments.length > 0 ? [counted(attachments.length, "attachment")] : []),
    ...(message.draft_id === null ? [] : [`from draft_id ${message.draft_id}`]),
  ].join("; ");
}

/** Says how far the sender is proven. A colleague's mail is proven by its Message-ID, whatever a forwarder did to its headers. */
function senderPhrase({ kind, origin, authentication }: WireMessage): string {
  if (kind === "colleague") return "sent by a colleague: another identity of this workspace";
  const { phrase } = proofOf(authentication);
  return origin === "own_workspace" ? `${phrase}: an address of this workspace` : phrase;
}

/** Lists recipients who do not get the mail, each with its server's words. */
const lossListed = (lost: WireMessage["recipients"]): string =>
  untrustedLine(
    lost
      .slice(0, maxLost)
      .map(({ address, status, text }) => `${untrustedLine(address, 80)}: ${untrustedLine(text ?? status, 100)}`)
      .join("; "),
    maxAddresses,
  );

/** Lists the newest reactions. */
const reactionsListed = (reactions: WireMessage["reactions"]): string =>
  untrustedLine(
    reactions
      .slice(-maxListed)
      .map(({ emoji, from }) => `${untrustedLine(emoji, 20)} ${untrustedLine(from, 60)}`)
      .join(", "),
    maxAddresses,
  );

const attachmentField = ({ id, filename, content_type, size_bytes }: WireMessage["attachments"][number]) => [
  `Attachment ${attachmentId(id)}`,
  `${untrustedLine(filename, 80)} (${untrustedLine(content_type, 60)}, ${size_bytes} bytes)`,
];

/** The service makes attachment ids; escaped all the same. */
const attachmentId = (id: string): string => untrustedLine(id, 40);

function rest({ message, piece, quotedLength, isQuoted }: MessageShown): string[] {
  const { id, thread_id, attachments } = message;
  const call = `read_thread with thread_id ${thread_id}, message_id ${id}${isQuoted ? ", quoted true" : ""}`;
  return [
    ...(piece.text === "" ? [isQuoted ? "(It quotes nothing.)" : "(It has no new text.)"] : []),
    ...(piece.nextOffset === null
      ? []
      : [
          `(${piece.total - piece.nextOffset} of ${piece.total} characters remain: ${call}, offset ${piece.nextOffset}.)`,
        ]),
    ...(quotedLength > 0 && !isQuoted
      ? [`(Quoted text of ${quotedLength} characters is folded: read_thread with message_id ${id}, quoted true.)`]
      : []),
    ...(attachments.length > maxAttachments ? [`(${attachments.length - maxAttachments} more attachments.)`] : []),
  ];
}

const listed = (addresses: readonly string[]): string => {
  const shown = addresses.slice(0, maxListed).join(", ");
  const more = addresses.length > maxListed ? ` and ${addresses.length - maxListed} more` : "";
  return `${untrustedLine(shown, maxAddresses)}${more}`;
};

/** The message as data; text by others is only under `untrusted`. */
export function messageData({ message, piece, quotedLength, isQuoted }: MessageShown) {
  const { attachments, kind, recipients, reactions } = message;
  const lost = lostRecipients(recipients);
  return {
    id: message.id,
    direction: message.direction,
    received_at: message.received_at,
    sent_at: message.sent_at,
    created_at: message.created_at,
    classification: message.classification,
    kind,
    origin: message.origin,
    sender_verified:
      kind === "colleague" || (message.direction === "inbound" ? proofOf(message.authentication).verified : null),
    delivery_status: message.delivery_status,
    recipients_total: recipients.length,
    recipients_lost: lost.length,
    reactions_total: reactions.length,
    draft_id: message.draft_id,
    from_blocked_contact: message.from_blocked_contact,
    offset: piece.offset,
    next_offset: piece.nextOffset,
    total_characters: piece.total,
    quoted_characters: quotedLength,
    is_quoted_text: isQuoted,
    attachments_total: attachments.length,
    untrusted: {
      from_email: untrustedLine(message.from_email),
      from_name: message.from_name === null ? null : untrustedLine(message.from_name),
      to: addresses(message.to_emails),
      cc: addresses(message.cc_emails),
      subject: untrustedLine(message.subject, 200),
      notes: message.notes.slice(0, 3).map((note) => untrustedLine(note, maxNotes)),
      text: piece.text,
      not_delivered_to: lost.slice(0, maxLost).map(({ address, status, code, text }) => ({
        address: untrustedLine(address, 100),
        status,
        code: code && untrustedLine(code, 40),
        text: text && untrustedLine(text, maxServerWords),
      })),
      reactions: reactions
        .slice(-maxListed)
        .map(({ emoji, from, at }) => ({ emoji: untrustedLine(emoji, 20), from: untrustedLine(from, 100), at })),
      attachments: attachments.slice(0, maxAttachments).map(({ id, filename, content_type, size_bytes }) => ({
        id: attachmentId(id),
        filename: untrustedLine(filename, 80),
        content_type: untrustedLine(content_type, 60),
        size_bytes,
      })),
    },
  };
}

const addresses = (all: readonly string[]): string[] => all.slice(0, maxListed).map((each) => untrustedLine(each, 100));
