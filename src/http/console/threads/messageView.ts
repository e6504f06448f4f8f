import { receivedFacts } from "#src/channels/attachments/attachmentFacts.ts";
import { type Attachment, attachmentsShown } from "#src/channels/card/attachments.ts";
import { type EarlierText, earlierText } from "#src/channels/card/earlierTexts.ts";
import { foldQuotations, foldQuote } from "#src/channels/card/quotes.ts";
import { type SenderProof, proofOf } from "#src/channels/card/senderProof.ts";
import type { Sanitised } from "#src/html/sanitise.ts";
import { visible } from "#src/html/visible.ts";
import type { WireMessage } from "../../present/messages.ts";

/** A text of a message: its beginning, and how many characters of it are not shown. */
export type Excerpt = { text: string; left: number };

/** A message as the page shows it. */
export type MessageView = {
  message: WireMessage;
  /** Unfolded when the page is opened. */
  isOpen: boolean;
  /** What its writer wrote this time, and what is quoted below it. */
  written: Excerpt;
  quoted: Excerpt;
  /** Of a message that came in; null for one of ours. */
  proof: SenderProof | null;
  attachments: (Attachment & { id: string })[];
  /** Its HTML, if that was asked for. */
  asHtml: Sanitised | null;
};

/** `open`, `html`, `whole`: the messages that are unfolded, shown as HTML (with it, if it has any), and shown to their end. */
export type Wishes = {
  open: ReadonlySet<string>;
  html: { id: string; sanitised: Sanitised | null } | null;
  whole: string | null;
};

/** Many messages are on one page: of a long one its beginning. */
const shownCharacters = 20_000;

/** The messages of a page, oldest first; what a reply of ours quotes is folded where the quoted message is among them. */
export function messageViews(messages: readonly WireMessage[], wishes: Wishes): MessageView[] {
  const answered = new Map(messages.map((message) => [message.rfc_message_id, message]));
  const texts = messages.map(({ body_text }) => earlierText(body_text ?? ""));
  return messages.map((message, index) => {
    const earlier = texts.slice(0, index).reverse();
    return messageView(message, { wishes, answered: answered.get(message.in_reply_to), earlier });
  });
}

function messageView(
  message: WireMessage,
  { wishes, answered, earlier }: { wishes: Wishes; answered: WireMessage | undefined; earlier: readonly EarlierText[] },
): MessageView {
  const { id, direction, authentication } = message;
  const asHtml = wishes.html?.id === id ? wishes.html : null;
  const { written, quoted } = direction === "inbound" ? received(message, earlier) : sent(message, answered);
  const most = wishes.whole === id ? Number.POSITIVE_INFINITY : shownCharacters;
  return {
    message,
    isOpen: wishes.open.has(id) || asHtml !== null || wishes.whole === id,
    written: excerpt(written, most),
    quoted: excerpt(quoted, most),
    proof: direction === "inbound" ? proofOf(authentication) : null,
    attachments: attachmentsOf(message),
    asHtml: asHtml?.sanitised ?? null,
  };
}

function received({ body_text }: WireMessage, earlier: readonly EarlierText[]) {
  const { newText, quotedText } = foldQuotations(body_text, earlier);
  return { written: newText, quoted: quotedText };
}

function sent({ body_text }: WireMessage, answered: WireMessage | undefined) {
  const answers = answered ? { newText: answered.body_text ?? "", quotedText: "" } : null;
  const { text, folded } = foldQuote(body_text ?? "", { signature: "", answers });
  return { written: text, quoted: folded };
}

/** Only what is shown is made safe to look at: a page may have twenty long messages. */
function excerpt(text: string, most: number): Excerpt {
  const start = text.slice(0, most).replace(/[\ud800-\udbff]$/, "");
  return { text: visible(start).trim(), left: text.length - start.length };
}

function attachmentsOf({ attachments }: WireMessage): MessageView["attachments"] {
  const facts = receivedFacts(
    attachments.map(({ filename, content_type, size_bytes }) => ({
      filename,
      contentType: content_type,
      sizeBytes: size_bytes,
    })),
  );
  return attachmentsShown(facts).map((shown, index) => ({ ...shown, id: attachments[index]?.id ?? "" }));
}
