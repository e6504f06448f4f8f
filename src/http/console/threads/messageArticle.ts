import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { frame } from "#src/html/page.ts";
import { when } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import type { WireMessage } from "../../present/messages.ts";
import { lossInWords, namesOfKind } from "../../present/messageWords.ts";
import { reactionsPart, recipientsPart, signsOf } from "./afterSending.ts";
import type { MessageExcerpt, MessageView } from "./messageView.ts";
import { badge, deliveryWords, person, shortPerson, type ThreadReader } from "./threadWords.ts";

/**
 * `addressFor`: returns the URL of this page with one more option, scrolled to that message. `isFixed`: the message cannot change any
 * more, so a refresh leaves its element alone.
 */
export type ArticleOptions = {
  reader: ThreadReader;
  addressFor(wish: "open" | "html" | "whole", messageId: string): string;
  isFixed: boolean;
};

/** A message, folded or unfolded. */
export function messageArticle(view: MessageView, options: ArticleOptions): Markup {
  const { reader, isFixed } = options;
  const { message, isOpen, written } = view;
  const { id, direction, from_name, from_email } = message;
  return html`<li class="message ${direction}" id="message-${id}"><details id="letter-${id}"${isOpen && html` open`}${isFixed && html` hx-preserve="true"`}>
<summary><h3>${shortPerson(from_name, from_email)} <span class="time">${when(reader, timeOf(message))}</span></h3>${marks(view)}<span class="line"><bdi lang="">${shortLine(written.text, 140)}</bdi></span></summary>
${head(message)}
${proofLine(view)}
${whoseLine(view, reader)}
${recipientsPart(message.recipients, reader)}
${message.approval_link_removed && html`<p class="caution">It contained approval links. They were closed, and are not shown here.</p>`}
${message.notes.map((note) => html`<p class="caution">${visibleLine(note)}</p>`)}
${body(view, options)}
${files(view)}
${reactionsPart(message.reactions, reader)}
<p class="meta ways">${htmlLink(view, options)}${message.draft_id !== null && html`<a class="press" href="/drafts/${message.draft_id}">Why was this sent?</a> `}<a class="press" href="/messages/${id}/source">Source</a> <a class="press" href="/messages/${id}/raw" download>Download</a></p>
</details></li>
`;
}

/** Time at which a message was received or sent. */
export const timeOf = ({ received_at, sent_at, created_at }: WireMessage): string =>
  received_at ?? sent_at ?? created_at;

function marks({ message, proof }: MessageView): Markup {
  const { delivery_status, from_blocked_contact, attachments, recipients, reactions } = message;
  const failed = delivery_status === "bounced" || delivery_status === "failed" || delivery_status === "complained";
  const ofSome = failed ? null : lossInWords(recipients);
  return html`${namesOfKind(message).map((name) => badge(name))}${from_blocked_contact && badge("Blocked sender", "notice")}${proof?.verified === false && badge("Sender not verified", "notice")}${delivery_status && badge(deliveryWords[delivery_status], failed ? "notice" : "plain")}${ofSome && badge(ofSome, "notice")}${reactions.length > 0 && badge(signsOf(reactions))}${attachments.length > 0 && badge(counted(attachments.length, "attachment"))}`;
}

function head(message: WireMessage): Markup {
  const { from_name, from_email, to_emails, cc_emails, bcc_emails, reply_to, subject } = message;
  const others = reply_to.filter((address) => address.toLowerCase() !== from_email.toLowerCase());
  return html`<dl>
<dt>From</dt><dd>${person(from_name, from_email)}</dd>
${addresses("To", to_emails)}${addresses("Cc", cc_emails)}${addresses("Bcc (hidden)", bcc_emails)}${addresses("Replies go to", others)}<dt>Subject</dt><dd class="subject"><bdi lang="">${visibleLine(subject) || "(no subject)"}</bdi></dd>
</dl>`;
}

/** Maximum number of addresses shown; the rest is counted. */
const shownAddresses = 50;

const addresses = (label: string, all: readonly string[]): Markup | false =>
  all.length > 0 &&
  html`<dt>${label}</dt><dd>${all.slice(0, shownAddresses).map((address) => html`<div><bdi lang="">${shortLine(address, 320)}</bdi></div>`)}${all.length > shownAddresses && html`<div>and ${counted(all.length - shownAddresses, "other")}</div>`}</dd>
`;

function proofLine({ proof, message }: MessageView): Markup | false {
  if (proof === null) return false;
  const blocked = message.from_blocked_contact && " The sender is blocked: agents were not notified of this message.";
  // Only the first sentence: which further header fields the signature covers is not relevant here.
  return html`<p class="${proof.verified === false ? "caution" : "meta"}">${proof.sentences[0]}${blocked}</p>`;
}

/** Says whose mail it is, if it is not simply a customer's, and when somebody filed it by hand. */
const whoseLine = ({ whose }: MessageView, reader: ThreadReader): Markup | false =>
  whose.words.length > 0 &&
  html`<p class="meta">${whose.words.join(" ")}${whose.filedAt !== null && html` ${when(reader, whose.filedAt)}`}</p>`;

function body({ message, written, quoted, asHtml }: MessageView, options: ArticleOptions): Markup {
  if (asHtml !== null && "html" in asHtml) {
    return html`${frame(asHtml.html, "The message as HTML")}
<p class="meta">Shown without its colours and pictures. Links are shown in brackets and cannot be opened here.</p>`;
  }
  const refused =
    asHtml !== null && html`<p>Its HTML is too large or too deeply nested to be shown here. This is its text.</p>`;
  if (written.text === "" && quoted.text === "") {
    return html`${refused}<p class="soft">${message.direction === "inbound" ? "It has no text, or none that could be read. The whole mail is in its source." : "It has no text."}</p>`;
  }
  return html`${refused}${letter(written, message.id, options)}${quoted.text !== "" && html`<details class="quoted"><summary>Show the quoted text (${linesIn(quoted.text)})</summary>${letter(quoted, message.id, options)}</details>`}`;
}

const linesIn = (text: string): string => counted(text.split("\n").length, "line");

const letter = ({ text, left }: MessageExcerpt, id: string, { addressFor }: ArticleOptions): Markup | false =>
  text !== "" &&
  html`<div class="letter" dir="auto" lang="">${text}</div>${left > 0 && html`<p><a class="press" href="${addressFor("whole", id)}">Show all of it (${counted(left, "more character")})</a></p>`}`;

const files = ({ attachments, message }: MessageView): Markup | false =>
  attachments.length > 0 &&
  html`<h4>${counted(attachments.length, "attachment")}</h4>
<ul class="files">${attachments.map(
    ({ id, name, description, warning }) =>
      html`<li><bdi lang="">${shortLine(name, 255)}</bdi> <span class="meta">(<bdi>${shortLine(description, 200)}</bdi>)</span> <a class="press" href="/messages/${message.id}/attachments/${encodeURIComponent(id)}" download>Download<span class="unseen"> ${shortLine(name, 255)}</span></a>${warning !== null && html`<p class="caution">${warning}</p>`}</li>`,
  )}</ul>`;

function htmlLink({ message: { id, body_html }, asHtml }: MessageView, { addressFor }: ArticleOptions): Markup | false {
  if (body_html === null) return false;
  return asHtml !== null
    ? html`<a class="press" href="${addressFor("open", id)}">Show as text</a> `
    : html`<a class="press" href="${addressFor("html", id)}">Show as HTML</a> `;
}
