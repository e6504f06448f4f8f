import { removedInWords } from "#src/channels/card/removed.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { refusedHtml } from "#src/commands/drafts/refusedHtml.ts";
import { html, type Markup } from "#src/html/html.ts";
import { pageHtml } from "#src/html/letter/pageHtml.ts";
import { readLetter } from "#src/html/letter/readLetter.ts";
import { frame } from "#src/html/page.ts";
import type { Identity } from "./around.ts";

/** Pictures are fetched when an identity is saved; until then each is shown by its alternative text. */
const notFetched = "0".repeat(64);

/** What would be kept of a signature's HTML if it were saved, and what would go. Throws Rejected for what is not taken. */
export async function signaturePreview(
  { costlyWork }: Pick<Dependencies, "costlyWork">,
  workspaceId: string,
  typed: string,
): Promise<Markup> {
  if (typed.trim() === "") return html`<p>There is no HTML signature to preview.</p>`;
  const named = await costlyWork("picturesNamed", typed, workspaceId);
  const sources = named.filter((source) => /^(https|data|cid):/i.test(source));
  const pictures = new Map(sources.map((source) => [source, notFetched]));
  const reduced = await costlyWork("reduceBody", { html: typed, pictures }, workspaceId);
  if ("refused" in reduced) throw refusedHtml("signature_html", reduced.refused);
  return html`<div class="signature">${frame(pageHtml(readLetter(reduced.html)), "Preview of the signature")}</div>
${removedList(removedInWords(reduced.removed), "Would be removed:")}
${sources.length > 0 && html`<p class="hint">Pictures are fetched when you save. One that cannot be had is removed, and its alternative text stays.</p>`}`;
}

/** The signature as it is stored, with its pictures (`data:` addresses by the hash of their bytes), and what was removed from it. */
export const storedSignature = (
  { signature_html, html_removed, signature_difference }: Identity,
  pictures: ReadonlyMap<string, string>,
): Markup | false =>
  signature_html !== null &&
  html`<div class="signature">${frame(pageHtml(readLetter(signature_html), { pictures }), "The signature as most mail programs show it")}</div>
${removedList(removedInWords(html_removed), "Removed when it was saved:")}
${signature_difference !== null && differences(signature_difference)}`;

const removedList = (removed: readonly string[], title: string): Markup | false =>
  removed.length > 0 && html`<p class="hint">${title} ${removed.join(", ")}.</p>`;

function differences(found: NonNullable<Identity["signature_difference"]>): Markup {
  const parts: [string, string[]][] = [
    ["Only in the HTML", [...found.only_html, ...found.links_only_html]],
    ["Only in the plain text", [...found.only_text, ...found.links_only_text]],
  ];
  return html`<div class="card alert"><p><strong>The two signatures say different things.</strong></p>${parts
    .filter(([, words]) => words.length > 0)
    .map(([title, words]) => html`<p>${title}: <bdi lang="">${words.join(" ")}</bdi></p>`)}</div>`;
}
