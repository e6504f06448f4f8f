import { proofOf } from "#src/channels/card/senderProof.ts";
import { counted } from "#src/html/counted.ts";
import type { WireMessage } from "../../present/messages.ts";
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
/** Maximum number of characters of the notes on a message. */
const maxNotes = 240;
/** Maximum number of characters of a list of addresses. */
const maxAddresses = 240;

/** `place`: the message's label in the text. `decision`: for a sent message, who approved it. */
export type MessageTextOptions = { fence: Fence; now: Date; place: string; decision?: string };

export function messageText(shown: MessageShown, { fence, now, place, decision = "" }: MessageTextOptions): string {
  const { message } = shown;
  const { from_email, from_name, to_emails, cc_emails, subject, attachments } = message;
  const what = message.direction === "inbound" ? `${place}, from a stranger` : `${place}, sent from here`;
  return [
    `${place}: ${facts(message, now)}${decision === "" ? "" : `, ${decision}`}`,
    fence({
      what,
      fields: {
        From: from_name ? `${from_name} <${from_email}>` : from_email,
        To: listed(to_emails),
        Cc: listed(cc_emails),
        Subject: untrustedLine(subject, 200),
        Notes: untrustedLine(message.notes.join(" "), maxNotes),
        ...Object.fromEntries(attachments.slice(0, maxAttachments).map(attachmentField)),
      },
      text: shown.piece.text === "" ? undefined : shown.piece.text,
    }),
    ...rest(shown),
  ].join("\n");
}

/** Facts about the message that the service itself states. */
function facts(message: WireMessage, now: Date): string {
  const { id, direction, classification, attachments } = message;
  const inbound = direction === "inbound";
  return [
    `message_id ${id}`,
    inbound
      ? `came in ${ago(message.received_at ?? message.created_at, now)}`
      : `our mail, ${message.sent_at === null ? "not sent yet" : `sent ${ago(message.sent_at, now)}`}`,
    ...(inbound ? [proofOf(message.authentication).phrase] : []),
    ...(classification !== null && classification !== "person" ? [`written by: ${classification}`] : []),
    ...(message.delivery_status === null ? [] : [`delivery ${message.delivery_status}`]),
    ...(message.from_blocked_contact ? ["from a blocked contact"] : []),
    ...(attachments.length > 0 ? [counted(attachments.length, "attachment")] : []),
    ...(message.draft_id === null ? [] : [`from draft_id ${message.draft_id}`]),
  ].join("; ");
}

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
  const shown = addresses.slice(0, 5).join(", ");
  const more = addresses.length > 5 ? ` and ${addresses.length - 5} more` : "";
  return `${untrustedLine(shown, maxAddresses)}${more}`;
};

/** The message as data; text by others is only under `untrusted`. */
export function messageData({ message, piece, quotedLength, isQuoted }: MessageShown) {
  const { attachments } = message;
  return {
    id: message.id,
    direction: message.direction,
    received_at: message.received_at,
    sent_at: message.sent_at,
    created_at: message.created_at,
    classification: message.classification,
    sender_verified: message.direction === "inbound" ? proofOf(message.authentication).verified : null,
    delivery_status: message.delivery_status,
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
      attachments: attachments.slice(0, maxAttachments).map(({ id, filename, content_type, size_bytes }) => ({
        id: attachmentId(id),
        filename: untrustedLine(filename, 80),
        content_type: untrustedLine(content_type, 60),
        size_bytes,
      })),
    },
  };
}

const addresses = (all: readonly string[]): string[] => all.slice(0, 5).map((each) => untrustedLine(each, 100));
