import { letterHead } from "#src/channels/card/fields.ts";
import type { LetterToRead, ReadableLetter } from "#src/channels/readableLetter.ts";
import type { Comparison, DiffLine } from "#src/html/compare/compareVersions.ts";
import { html, type Markup, type Value } from "#src/html/html.ts";
import { frame } from "#src/html/page.ts";
import { visible, visibleLine } from "#src/html/visible.ts";
import type { Version } from "./steps.ts";

/** Reads a letter in a thread: the costly work `readableLetter`. */
export type ReadLetter = (letter: LetterToRead) => Promise<ReadableLetter>;

/** A version, as it says what would be, or was, sent. */
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

/** What a version says, to whom. `frames`: HTML as mail programs show it; on paper its words alone. */
export function letterView(
  { content, rationale }: Pick<Version, "content" | "rationale">,
  letter: ReadableLetter,
  { frames }: { frames: boolean },
): Markup {
  const head = letterHead(content).filter(({ values }) => values.length > 0);
  return html`<dl>${head.map(({ label, values }) => html`<dt>${label}</dt><dd>${values.map((value) => html`<div><bdi lang="">${visibleLine(value)}</bdi></div>`)}</dd>`)}
${content.attachments.length > 0 && html`<dt>Attached</dt><dd>${content.attachments.map(({ filename, content_type, sha256 }) => html`<div><bdi lang="">${visibleLine(filename)}</bdi> (<bdi>${visibleLine(content_type)}</bdi>, SHA-256 <bdi class="code">${sha256}</bdi>)</div>`)}</dd>`}</dl>
${bodies(letter, frames)}
${rationale ? html`<p class="label">Why it was written, in its author's words</p>${writing(rationale)}` : ""}`;
}

function bodies({ html: formatted, text }: ReadableLetter, frames: boolean): Markup {
  if (formatted === null) return writing(text);
  if (!frames) {
    return html`<p class="label">Words of its HTML</p>${writing(formatted.asText)}${formatted.asText.trim() !== text.trim() && html`<p class="label">Its plain text</p>${writing(text)}`}`;
  }
  return html`${frame(formatted.page, "The letter as most mail programs show it")}
<details><summary>As programs without HTML show it</summary>${writing(text)}</details>`;
}

/** What somebody wrote at length, line by line, in whatever language and direction. */
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

/** What a version changed, field by field; texts line by line. */
export const changesView = ({ changes, truncated }: Comparison, before: number): Markup =>
  changes.length === 0 && !truncated
    ? html`<p class="meta">It says the same as version ${before}.</p>`
    : html`<div class="changes"><p class="meta">Compared with version ${before}: <ins>underlined</ins> is new, <del>struck through</del> is gone.</p>
${changes.map(
  ({ field, from, to, lines }) => html`<p class="label">${labels[field] ?? field}</p>
<div class="letter" dir="auto" lang="">${
    lines === null ? html`${gone(inWords(from))}${come(inWords(to))}` : nearby(lines).map(lineView)
  }</div>`,
)}</div>`;

/** So many lines on either side of a change are shown. */
const around = 2;

/** The changed lines and those next to them. */
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

function lineView(line: DiffLine | null): Value {
  if (line === null) return html`<div class="soft">…</div>`;
  if (line.change === "same") return html`<div>${line.text || " "}</div>`;
  return line.change === "added" ? come(line.text) : gone(line.text);
}

// A screen reader says what others see by the line under or through it.
const come = (text: string): Value =>
  text !== "" && html`<div><ins><span class="unseen">added: </span>${text}</ins></div>`;
const gone = (text: string): Value =>
  text !== "" && html`<div><del><span class="unseen">removed: </span>${text}</del></div>`;

/** A value that is no text: addresses, files. */
function inWords(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (Array.isArray(value)) return value.map(inWords).join(", ");
  if (typeof value === "object") return Object.values(value).map(inWords).filter(Boolean).join(" ");
  return visibleLine(String(value));
}
