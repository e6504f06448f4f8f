import type { Attachment } from "#src/channels/card/attachments.ts";
import type { ChangePiece, Changes } from "#src/channels/card/changes.ts";
import type { FieldValue } from "#src/channels/card/fields.ts";
import type { Link } from "#src/channels/card/links.ts";
import type { FoldedText } from "#src/channels/card/quotes.ts";
import type { CardLetter, ReviewCard, ShownMessage } from "#src/channels/card/reviewCard.ts";
import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { frame } from "#src/html/page.ts";
import { readableTime } from "#src/html/times.ts";

/** `n`: number of the draft on a page with several drafts, so that the ids and names of its sections are unique. */
type Numbered = { n?: number | undefined };

const idOf = (name: string, n: number | undefined): string => (n === undefined ? name : `${name}-${n}`);

/** Ids of the elements that name a section: its heading and, on a page with several drafts, the draft's (`draftHeadingId`). */
const namedBy = (name: string, n: number | undefined): string =>
  n === undefined ? name : `${idOf(name, n)} ${draftHeadingId(n)}`;

/** Id of the heading of the nth draft on a page with several drafts. */
export const draftHeadingId = (n: number): string => `draft-${n}`;

/** The exact mail that would be sent, and its recipients. `warnings`: warnings about this mail, shown above it. */
export const letterSection = (
  letter: CardLetter,
  title: string,
  { warnings = false, n }: { warnings?: Markup | false } & Numbered = {},
): Markup => html`<section aria-labelledby="${namedBy("letter", n)}">
<h2 id="${idOf("letter", n)}">${title}</h2>
${warnings}
<dl>${letter.fields.map(({ label, values }) => html`<dt>${label}</dt><dd class="${label === "Subject" && "subject"}">${values.map(markedValue)}</dd>`)}</dl>
${attachmentList(letter.attachments)}
${letterBodies(letter)}
${linkList(letter.links)}
${letter.removed.length > 0 && more("What was removed from its HTML when it was submitted", html`<ul>${letter.removed.map((words) => html`<li>${words}</li>`)}</ul>`)}
${more("Technical details", html`<dl>${letter.technical.map(({ label, values }) => html`<dt>${label}</dt><dd>${values.map((value) => html`<bdi class="code">${value}</bdi>`)}</dd>`)}</dl>`)}
</section>`;

const markedValue = ({ name, text, mark }: FieldValue): Markup =>
  html`<div>${person({ name, address: text })}${mark !== null && html` <strong class="mark">${mark}</strong>`}</div>`;

const attachmentList = (attachments: Attachment[]): Markup | false =>
  attachments.length > 0 &&
  html`<h3>Attached</h3>
<ul class="files">${attachments.map(
    ({
      name,
      description,
      warning,
      download,
    }) => html`<li><bdi lang="">${name}</bdi> <span class="meta">(${description})</span>
${download !== null && html`<a class="press" href="${download}" download>Download<span class="unseen"> ${name}</span></a>`}
${warning !== null && html`<p class="caution">${warning}</p>`}</li>`,
  )}</ul>`;

/** Shows first the version that most recipients read; the other one is folded unless its text differs. */
function letterBodies({ plain, formatted, differs }: CardLetter): Markup {
  if (formatted === null) return writing(plain);
  return html`<h3>Preview</h3>
${frame(formatted.pageHtml, "The letter as most mail programs show it")}
<p class="meta">Shown without its colours. Links are shown in brackets and cannot be opened here. [image: …] is shown by mail programs that show no pictures. Each picture is shown on white and on black.</p>
${differs ? html`<h3>Plain-text version</h3>${writing(plain)}` : more("Plain-text version", writing(plain))}`;
}

/** Shows a few links unfolded; many links would separate the text from the decision. */
const linkList = (links: Link[]): Markup | false =>
  links.length > 0 &&
  html`<details${(links.length <= 3 || links[0]?.names !== null) && html` open`}><summary>${links.length === 1 ? "1 link" : `${links.length} links`} in it</summary>
<ul class="links">${links.map(
    ({ text, target, host, names }) =>
      html`<li>${text !== null && html`<bdi lang="">${text}</bdi> leads to `}<bdi>${target}</bdi>${names !== null && html` <strong class="mark">names <bdi>${names}</bdi>, leads to <bdi>${host}</bdi></strong>`}</li>`,
  )}</ul></details>`;

const more = (summary: string, content: Markup): Markup =>
  html`<details><summary>${summary}</summary>${content}</details>`;

/** Changes since the version that approvers were last asked about. */
export const changesSection = (
  { since, sentences, fields, text }: Changes,
  { n }: Numbered = {},
): Markup => html`<section aria-labelledby="${namedBy("changes", n)}">
<h2 id="${idOf("changes", n)}">What changed since version ${since}</h2>
${sentences.map((sentence) => html`<p>${sentence}</p>`)}
${fields.length + text.length > 0 && html`<p class="meta" aria-hidden="true"><ins>Underlined</ins> is new, <del>struck through</del> is gone.</p>`}
${fields.length > 0 && html`<dl>${fields.map(({ label, removed, added }) => html`<dt>${label}</dt><dd>${removed.map((text) => changed({ kind: "removed", text }))}${added.map((text) => changed({ kind: "added", text }))}</dd>`)}</dl>`}
${text.length > 0 && html`<div class="letter" dir="auto" lang="">${text.map(piece)}</div>`}
</section>`;

const changed = (one: ChangePiece): Markup => html`<div>${piece(one)}</div>`;

// For screen readers, which do not announce underlined and struck text.
function piece({ kind, text }: ChangePiece): Markup {
  if (kind === "same") return html`${text}`;
  return kind === "added"
    ? html`<ins><span class="unseen">added: </span>${text}</ins>`
    : html`<del><span class="unseen">removed: </span>${text}</del>`;
}

/** Warnings and hints, above everything else. */
export const warningsSection = ({ warnings, hints }: ReviewCard): Markup | false =>
  warnings.length + hints.length > 0 &&
  html`<section class="warnings" aria-labelledby="warnings"><h2 id="warnings">Before you decide</h2>
<ul>${warnings.map((warning) => html`<li>${warning}</li>`)}${hints.map((hint) => html`<li class="hint">Hint: ${hint}</li>`)}</ul></section>`;

export const rationaleSection = (
  { rationale }: ReviewCard,
  { n }: Numbered = {},
): Markup => html`<section aria-labelledby="${namedBy("why", n)}">
<h2 id="${idOf("why", n)}">Why the agent wrote it</h2>
${rationale ? html`<div class="writing" dir="auto" lang="">${paragraphs(rationale)}</div>` : html`<p class="soft">The agent gave no reason.</p>`}
</section>`;

/** The message that the draft answers. `warnings`: warnings about this message, shown above it. */
export function answersSection(
  { answers }: ReviewCard,
  { warnings = false, n }: { warnings?: Markup | false } & Numbered = {},
): Markup {
  const id = idOf("answers", n);
  if (answers === null) {
    return html`<section aria-labelledby="${namedBy("answers", n)}"><h2 id="${id}">What it answers</h2><p>Nothing: it starts a new conversation.</p></section>`;
  }
  return html`<section aria-labelledby="${namedBy("answers", n)}">
<h2 id="${id}">The message it answers</h2>
${warnings}
${messageHead(answers)}
<p class="meta">${answers.proof.sentences.join(" ")}</p>
${writing(answers)}
${attachmentList(answers.attachments)}
</section>`;
}

/** The customer's newer message, which the draft does not answer. */
export const newerSection = (newer: ShownMessage): Markup => html`<section aria-labelledby="newer">
<h2 id="newer">The newer message</h2>
${messageHead(newer)}
${writing(newer)}
</section>`;

// Isolated from each other, so that a right-to-left name does not reorder the address.
const person = ({ name, address }: { name: string | null; address: string }): Markup =>
  name === null ? html`<bdi lang="">${address}</bdi>` : html`<bdi lang="">${name}</bdi> &lt;<bdi>${address}</bdi>&gt;`;

const messageHead = (
  message: ShownMessage,
): Markup => html`<p class="meta">From ${person({ name: message.fromName, address: message.fromEmail })}<br>
<time datetime="${message.receivedAt}">${readableTime(message.receivedAt)}</time><br>
Subject: <bdi lang="">${message.subject}</bdi></p>`;

/** A text by a person, line by line, in any language and direction. */
const writing = ({ text, folded }: FoldedText): Markup =>
  html`${written(text || "(no text)")}${folded !== "" && more(`Show the quoted text (${counted(folded.split("\n").length, "line")})`, written(folded))}`;

const written = (text: string): Markup => html`<div class="letter" dir="auto" lang="">${text}</div>`;

const paragraphs = (text: string): Markup[] => text.split(/\n{2,}/).map((part) => html`<p>${part}</p>`);
