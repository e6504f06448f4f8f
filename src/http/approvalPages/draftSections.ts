import type { AnsweredMessage, ApprovalView, NewerMessage } from "#src/channels/approvalView.ts";
import type { Letter } from "#src/channels/letter.ts";
import { html, type Markup } from "#src/html/html.ts";
import { frame } from "#src/html/page.ts";
import { withPictures } from "#src/html/sanitise.ts";
import { readableTime } from "#src/html/times.ts";
import { visibleLine } from "#src/html/visible.ts";

/** Exactly what would be sent, to whom. */
export const letterSection = (
  view: ApprovalView,
  letter: Letter,
  title: string,
): Markup => html`<section aria-labelledby="letter">
<h2 id="letter">${title}</h2>
<dl>${letter.head.map(({ label, values }) => html`<dt>${label}</dt><dd class="${label === "Subject" && "subject"}">${values.map((value) => html`<bdi lang="">${value}</bdi>`)}</dd>`)}</dl>
${letterBodies(letter, view.pictures)}
${technicalDetails(view)}
</section>`;

function letterBodies({ text, html: formatted }: Letter, pictures: ApprovalView["pictures"] = new Map()): Markup {
  if (formatted === null) return writing(text);
  if (formatted === "unreadable") {
    return html`<p>Its HTML is too large or too deeply nested to be shown here. This is its plain text.</p>${writing(text)}`;
  }
  return html`<h3>As most mail programs show it</h3>
<p class="meta">Shown without its colours. Links are written out in brackets and cannot be followed here. [image: …] is what readers see if their mail program shows no pictures. Each picture is shown on white and on black.</p>
${frame(withPictures(formatted.sanitised, pictures), "The letter as most mail programs show it")}
<h3>As programs without HTML show it</h3>
${writing(text)}`;
}

const technicalDetails = (view: ApprovalView): Markup => html`<details><summary>Technical details</summary>
<dl>
<dt>Version</dt><dd>${view.version}</dd>
<dt>Content hash</dt><dd><code>${view.contentSha256}</code></dd>
<dt>In reply to</dt><dd>${view.content.in_reply_to ?? "nothing"}</dd>
<dt>References</dt><dd>${view.content.references.length > 0 ? view.content.references.map((id) => html`<bdi>${id}</bdi>`) : "none"}</dd>
${view.content.attachments.map((file) => html`<dt>${visibleLine(file.filename)}</dt><dd><code>${file.sha256}</code></dd>`)}
</dl></details>`;

export const rationaleSection = ({ rationale }: ApprovalView): Markup => html`<section aria-labelledby="why">
<h2 id="why">Why the agent wrote it</h2>
${rationale ? html`<div class="writing" dir="auto" lang="">${paragraphs(rationale)}</div>` : html`<p class="soft">The agent gave no reason.</p>`}
</section>`;

export function answersSection({ answers }: ApprovalView): Markup {
  if (answers === null) {
    return html`<section aria-labelledby="answers"><h2 id="answers">What it answers</h2><p>Nothing: it starts a new conversation.</p></section>`;
  }
  const { quotedText, attachments } = answers;
  return html`<section aria-labelledby="answers">
<h2 id="answers">The message it answers</h2>
${messageHead(answers)}
<p class="meta">${verified(answers)}</p>
${writing(answers.newText || "(no text)")}
${attachments.length > 0 && html`<p class="meta">Attached: ${attachments.map(visibleLine).join(", ")}</p>`}
${quotedText.trim() && html`<details><summary>Show the quoted text</summary>${writing(quotedText)}</details>`}
</section>`;
}

/** The customer's newer word, which the draft does not know of. */
export const newerSection = (newer: NewerMessage): Markup => html`<section aria-labelledby="newer">
<h2 id="newer">The newer message</h2>
${messageHead(newer)}
${writing(newer.newText ?? "(The text cannot be shown yet.)")}
</section>`;

// Apart from each other, so that a name written from right to left does not carry the address along.
const sender = ({ fromName, fromEmail }: NewerMessage | AnsweredMessage): Markup =>
  fromName
    ? html`<bdi lang="">${visibleLine(fromName)}</bdi> &lt;<bdi>${visibleLine(fromEmail)}</bdi>&gt;`
    : html`<bdi>${visibleLine(fromEmail)}</bdi>`;

const messageHead = (
  message: NewerMessage | AnsweredMessage,
): Markup => html`<p class="meta">From ${sender(message)}<br>
<time datetime="${message.receivedAt}">${readableTime(message.receivedAt)}</time><br>
Subject: <bdi lang="">${visibleLine(message.subject) || "(no subject)"}</bdi></p>`;

function verified({ authentication }: AnsweredMessage): string {
  if (authentication === null) return "The sender has not been checked yet.";
  const checks = `SPF ${authentication.spf}, DKIM ${authentication.dkim}, DMARC ${authentication.dmarc}`;
  return authentication.aligned ? `The sender is verified (${checks}).` : `The sender is not verified (${checks}).`;
}

/** What somebody wrote, line by line, in whatever language and direction. */
const writing = (text: string): Markup => html`<div class="letter" dir="auto" lang="">${text}</div>`;

const paragraphs = (text: string): Markup[] =>
  text
    .trim()
    .split(/\n{2,}/)
    .map((part) => html`<p>${part}</p>`);
