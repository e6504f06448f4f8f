import { createHash } from "node:crypto";
import { html, type Markup } from "#src/html/html.ts";
import { frame } from "#src/html/page.ts";
import type { Sanitised } from "#src/html/sanitise.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import type { ParsedMail } from "#src/mail/in/parse.ts";
import { writing } from "./letterView.ts";
import { folded } from "./stepView.ts";

/**
 * A mail that was handed over. `parsed` null: too large to parse here. `asHtml`: its HTML; null if it has none. `recorded`: its hash in the
 * event log.
 */
export type HandedOver = {
  messageId: string;
  raw: Buffer;
  parsed: ParsedMail | null;
  asHtml: Sanitised | null;
  recorded: string;
};

/** Maximum number of bytes of a mail that is parsed for display. Larger mails can only be downloaded. */
export const mostRead = 2_000_000;
/** Maximum number of bytes of the source that are shown. */
const mostShown = 64_000;

/** Shows the mail as handed over: header, bodies, files, source. */
export function mimeView(
  { messageId, raw, parsed, asHtml, recorded }: HandedOver,
  { opened = false }: { opened?: boolean } = {},
): Markup {
  const sha256 = createHash("sha256").update(raw).digest("hex");
  return html`<section aria-labelledby="handed-over">
<h2 id="handed-over">What was handed over</h2>
${
  sha256 === recorded
    ? html`<p>These are the bytes that were handed over: their SHA-256 is the recorded one, <bdi class="code">${sha256}</bdi>.</p>`
    : html`<p class="alert card" role="alert"><strong>These are not the bytes that were handed over.</strong> Recorded is the SHA-256 <bdi class="code">${recorded}</bdi>, theirs is <bdi class="code">${sha256}</bdi>.</p>`
}
<p><a class="press" href="/messages/${messageId}/raw" download>Download the mail, byte for byte (${raw.length} bytes)</a></p>
<h3>Its head</h3>
<dl class="head">${headOf(raw).map(({ name, value }) => html`<dt><bdi>${shortLine(name, 80)}</bdi></dt><dd><bdi lang="">${shortLine(value, 4_000)}</bdi></dd>`)}</dl>
${parsed === null ? html`<p class="meta">It is too large to be shown here: download it.</p>` : bodiesOf(parsed, { asHtml, opened })}
${folded(raw.length > mostShown ? `Its source (the first ${mostShown} bytes)` : "Its source", writing(raw.subarray(0, mostShown).toString("utf8")), opened)}
</section>`;
}

function bodiesOf(
  { bodyText, attachments, unreadable }: ParsedMail,
  { asHtml, opened }: Pick<HandedOver, "asHtml"> & { opened: boolean },
): Markup {
  if (unreadable !== null)
    return html`<p class="meta">It could not be shown here: <bdi>${visibleLine(unreadable)}</bdi></p>`;
  return html`${asHtml !== null && !("refused" in asHtml) && !opened && html`<h3>Its HTML</h3>${frame(asHtml.html, "The HTML of the mail that was handed over")}`}
<h3>Its text</h3>${writing(bodyText ?? "")}
${
  attachments.length > 0 &&
  html`<h3>Its files</h3><ul>${attachments.map(({ filename, contentType, bytes }) => html`<li><bdi lang="">${visibleLine(filename ?? "(no name)")}</bdi> (<bdi>${visibleLine(contentType)}</bdi>, ${bytes.length} bytes, SHA-256 <bdi class="code">${createHash("sha256").update(bytes).digest("hex")}</bdi>)</li>`)}</ul>`
}`;
}

const mostFields = 200;

/** The unfolded header fields in their original order. */
export function headOf(raw: Buffer): { name: string; value: string }[] {
  const text = raw.subarray(0, 256_000).toString("utf8");
  const end = /\r?\n\r?\n/.exec(text)?.index ?? text.length;
  const lines = text
    .slice(0, end)
    .replace(/\r?\n[ \t]+/g, " ")
    .split(/\r?\n/);
  return lines.slice(0, mostFields).map((line) => {
    const colon = line.indexOf(":");
    return colon === -1
      ? { name: "", value: line }
      : { name: line.slice(0, colon), value: line.slice(colon + 1).trim() };
  });
}
