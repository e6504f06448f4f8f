import type { WhoseMail } from "#projections/messages/queries.ts";
import { receivedFacts } from "#src/channels/attachments/attachmentFacts.ts";
import { type Attachment, attachmentsShown } from "#src/channels/card/attachments.ts";
import { type EarlierText, earlierText } from "#src/channels/card/earlierTexts.ts";
import { foldQuotations, foldQuote } from "#src/channels/card/quotes.ts";
import { proofOf, type SenderProof } from "#src/channels/card/senderProof.ts";
import { whoseMailInWords } from "#src/channels/card/whoseMail.ts";
import type { Sanitised } from "#src/html/sanitise.ts";
import { visible } from "#src/html/visible.ts";
import { cutText } from "#streams/cutText.ts";
import type { WireMessage } from "../../present/messages.ts";

/** The beginning of a text, and the number of characters not shown. */
export type MessageExcerpt = { text: string; left: number };

/** A message as the page shows it. */
export type MessageView = {
  message: WireMessage;
  /** True if unfolded when the page is loaded. */
  isOpen: boolean;
  /** The message's own text, and the text it quotes. */
  written: MessageExcerpt;
  quoted: MessageExcerpt;
  /** Authentication of a received message; null for a sent one, and for a colleague's, which its Message-ID proves. */
  proof: SenderProof | null;
  /** Whose mail it is, in sentences; none for a customer's and for ours. `filedAt`: ISO time at which it was filed by hand, or null. */
  whose: { words: string[]; filedAt: string | null };
  attachments: (Attachment & { id: string })[];
  /** The message's HTML, if requested. */
  asHtml: Sanitised | null;
};

/**
 * Options in the page's URL. `open`: ids of unfolded messages. `html`: the message to show as HTML, and its sanitised HTML if it has any.
 * `whole`: id of the message to show in full.
 */
export type MessageViewOptions = {
  open: ReadonlySet<string>;
  html: { id: string; sanitised: Sanitised | null } | null;
  whole: string | null;
};

/** Characters shown of a long message, because a page has many messages. */
const shownCharacters = 20_000;

/**
 * Messages of a page, oldest first; quotations in sent replies are folded if the quoted message is among them. `whose`: whose mail the
 * received ones are, by their ids.
 */
export function messageViews(
  messages: readonly WireMessage[],
  wishes: MessageViewOptions,
  whose: ReadonlyMap<string, WhoseMail> = new Map(),
): MessageView[] {
  const answered = new Map(messages.map((message) => [message.rfc_message_id, message]));
  const texts = messages.map(({ body_text }) => earlierText(body_text ?? ""));
  return messages.map((message, index) => {
    const earlier = texts.slice(0, index).reverse();
    const view = messageView(message, { wishes, answered: answered.get(message.in_reply_to), earlier });
    return { ...view, whose: whoseShown(whose.get(message.id)) };
  });
}

const whoseShown = (whose: WhoseMail | undefined): MessageView["whose"] => ({
  words: whose ? whoseMailInWords(whose) : [],
  filedAt: whose?.filed_by?.at ?? null,
});

function messageView(
  message: WireMessage,
  {
    wishes,
    answered,
    earlier,
  }: { wishes: MessageViewOptions; answered: WireMessage | undefined; earlier: readonly EarlierText[] },
): Omit<MessageView, "whose"> {
  const { id, direction, kind, authentication } = message;
  const asHtml = wishes.html?.id === id ? wishes.html : null;
  const { written, quoted } = direction === "inbound" ? received(message, earlier) : sent(message, answered);
  const most = wishes.whole === id ? Number.POSITIVE_INFINITY : shownCharacters;
  return {
    message,
    isOpen: wishes.open.has(id) || asHtml !== null || wishes.whole === id,
    written: excerpt(written, most),
    quoted: excerpt(quoted, most),
    proof: direction === "inbound" && kind !== "colleague" ? proofOf(authentication) : null,
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

/** Only the shown part is sanitised: a page may have twenty long messages. */
function excerpt(text: string, most: number): MessageExcerpt {
  const start = cutText(text, most);
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
