import { letterHead } from "#src/channels/card/fields.ts";
import type { LetterToRead, ReadableLetter } from "#src/channels/readableLetter.ts";
import type { Comparison, DiffLine } from "#src/html/compare/compareVersions.ts";
import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { frame } from "#src/html/page.ts";
import { visible, visibleLine } from "#src/html/visible.ts";
import type { Version } from "./steps.ts";

/** Prepares a mail for display: the costly work `readableLetter`. */
export type ReadLetter = (letter: LetterToRead) => Promise<ReadableLetter>;

/** The content of a version, as it would be or was sent. */
export async function letterSection(
  read: ReadLetter,
  version: Version,
  { frames = true, title = `What version ${version.version} says` } = {},
): Promise<Markup> {
  const { body_html, body_text, signature_html, signature_text } = version.content;
  const letter = await read({ content: { body_html, body_text, signature_html, signature_text } });
  return html`<section aria-labelledby="letter"><h2 id="letter">${title}</h2>
${letterView(version, letter, { frames })}
<p class="meta">Content hash <bdi class="code">${visibleLine(version.contentSha256)}</bdi></p></section>`;
}

/** A version's content and recipients. `frames`: shows HTML as mail programs do; print pages show only the text. */
export function letterView(
  { content, rationale }: Pick<Version, "content" | "rationale">,
  letter: ReadableLetter,
  { frames }: { frames: boolean },
): Markup {
  const head = letterHead(content).filter(({ values }) => values.length > 0);
  return html`<dl>${head.map(({ label, values }) => html`<dt>${label}</dt><dd>${values.map((value) => html`<div><bdi lang="">${visibleLine(value)}</bdi></div>`)}</dd>`)}
${content.attachments.length > 0 && html`<dt>Attached</dt><dd>${content.attachments.map(({ filename, content_type, sha256 }) => html`<div><bdi lang="">${visibleLine(filename)}</bdi> (<bdi>${visibleLine(content_type)}</bdi>, SHA-256 <bdi class="code">${sha256}</bdi>)</div>`)}</dd>`}</dl>
${bodies(letter, frames)}
${rationale ? html`<p class="label">The author's reason</p>${writing(rationale)}` : ""}`;
}

function bodies({ html: formatted, text }: ReadableLetter, frames: boolean): Markup {
  if (formatted === null) return writing(text);
  if (!frames) {
    return html`<p class="label">Words of its HTML</p>${writing(formatted.asText)}${formatted.asText.trim() !== text.trim() && html`<p class="label">Its plain text</p>${writing(text)}`}`;
  }
  return html`${frame(formatted.page, "The letter as most mail programs show it")}
<details><summary>Plain-text version</summary>${writing(text)}</details>`;
}

/** A long text by a person, line by line, in any language and direction. */
export const writing = (text: string): Markup =>
  html`<div class="letter" dir="auto" lang="">${visible(text).trim() || "(no text)"}</div>`;

const labels: Partial<Record<string, string>> = {
  subject: "Subject",
  body_text: "Text",
  body_html: "HTML",
  rationale: "Its author's reason",
  to: "To",
  cc: "Cc",
  bcc: "Bcc (hidden)",
  from: "From",
  reply_to: "Replies go to",
  signature_text: "Signature",
  signature_html: "Signature as HTML",
  in_reply_to: "In reply to",
  references: "References",
  attachments: "Attachments",
};

/** Changes between two versions, field by field; texts line by line. */
export const changesView = ({ changes, truncated }: Comparison, before: number): Markup =>
  changes.length === 0 && !truncated
    ? html`<p class="meta">It says the same as version ${before}.</p>`
    : html`<div class="changes"><p class="meta">Compared with version ${before}: <ins>underlined</ins> is new, <del>struck through</del> is gone.</p>
${changes.map(
  ({ field, from, to, lines }) => html`<p class="label">${labels[field] ?? field}</p>
<div class="letter" dir="auto" lang="">${
    lines === null
      ? html`${gone(inWords(from))}${come(inWords(to))}`
      : isInBreaksAlone({ from, lines })
        ? html`<div class="soft">Only line breaks differ.</div>`
        : nearby(lines).map(lineView)
  }</div>`,
)}</div>`;

/** A change that is not shown in full has no values: of its lines only the first ones are the same. */
const isInBreaksAlone = ({ from, lines }: { from: unknown; lines: readonly DiffLine[] }): boolean =>
  from !== null && lines.every(({ change }) => change === "same");

/** Unchanged lines shown before and after a change. */
const around = 2;

/** The changed lines and `around` lines next to them; null marks omitted lines. */
function nearby(lines: readonly DiffLine[]): (DiffLine | null)[] {
  const isNear = new Set<number>();
  for (const [index, { change }] of lines.entries()) {
    if (change === "same") continue;
    for (let near = index - around; near <= index + around; near++) isNear.add(near);
  }
  const kept: (DiffLine | null)[] = [];
  for (const [index, line] of lines.entries()) {
    if (isNear.has(index)) kept.push(line);
    else if (kept.at(-1) !== null) kept.push(null);
  }
  return kept;
}

function lineView(line: DiffLine | null): MarkupValue {
  if (line === null) return html`<div class="soft">…</div>`;
  if (line.change === "same") return html`<div>${line.text || " "}</div>`;
  return line.change === "added" ? come(line.text) : gone(line.text);
}

// For screen readers, which do not announce underlined and struck text.
const come = (text: string): MarkupValue =>
  text !== "" && html`<div><ins><span class="unseen">added: </span>${text}</ins></div>`;
const gone = (text: string): MarkupValue =>
  text !== "" && html`<div><del><span class="unseen">removed: </span>${text}</del></div>`;

/** Formats a value that is not text: addresses, files. */
function inWords(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(inWords).join(", ");
  if (typeof value === "object") return Object.values(value).map(inWords).filter(Boolean).join(" ");
  return visibleLine(String(value));
}
