import { removedInWords } from "#src/channels/card/removed.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { refusedHtml } from "#src/commands/drafts/refusedHtml.ts";
import { html, type Markup } from "#src/html/html.ts";
import { frame } from "#src/html/page.ts";
import type { IdentityAnswer } from "./workspaceContext.ts";

type Deps = Pick<Dependencies, "costlyWork">;

/** Placeholder hash: pictures are fetched when an identity is saved; the preview shows their alternative text. */
const notFetched = "0".repeat(64);

/** Shows what would be kept and removed of a signature's HTML if it were saved. Throws Rejected if it would be refused. */
export async function signaturePreview(deps: Deps, workspaceId: string, typed: string): Promise<Markup> {
  if (typed.trim() === "") return html`<p>There is no HTML signature to preview.</p>`;
  const named = await deps.costlyWork("picturesNamed", typed, workspaceId);
  const sources = named.filter((source) => /^(https|data|cid):/i.test(source));
  const pictures = new Map(sources.map((source) => [source, notFetched]));
  const reduced = await deps.costlyWork("reduceBody", { html: typed, pictures }, workspaceId);
  if ("refused" in reduced) throw refusedHtml("signature_html", reduced.refused);
  const page = await pageOf(deps, workspaceId, { signatureHtml: reduced.html });
  return html`<div class="signature">${frame(page, "Preview of the signature")}</div>
${removedList(removedInWords(reduced.removed), "Would be removed:")}
${sources.length > 0 && html`<p class="hint">Pictures are fetched when you save. A picture that cannot be fetched is removed, and its alternative text is kept.</p>`}`;
}

/** The stored signature with its pictures (`data:` addresses by the hash of their bytes), and what was removed from it. */
export async function storedSignature(
  deps: Deps,
  workspaceId: string,
  { identity, pictures }: { identity: IdentityAnswer; pictures: ReadonlyMap<string, string> },
): Promise<Markup | false> {
  const { signature_html, html_removed, signature_difference } = identity;
  if (signature_html === null) return false;
  const page = await pageOf(deps, workspaceId, { signatureHtml: signature_html, pictures });
  return html`<div class="signature">${frame(page, "The signature as most mail programs show it")}</div>
${removedList(removedInWords(html_removed), "Removed when it was saved:")}
${signature_difference !== null && differences(signature_difference)}`;
}

async function pageOf(
  { costlyWork }: Deps,
  workspaceId: string,
  { signatureHtml, pictures = new Map() }: { signatureHtml: string; pictures?: ReadonlyMap<string, string> },
): Promise<string> {
  const content = { body_html: signatureHtml, body_text: "", signature_html: null, signature_text: null };
  const { html } = await costlyWork("readableLetter", { content, pictures }, workspaceId);
  return html?.page ?? "";
}

const removedList = (removed: readonly string[], title: string): Markup | false =>
  removed.length > 0 && html`<p class="hint">${title} ${removed.join(", ")}.</p>`;

function differences(found: NonNullable<IdentityAnswer["signature_difference"]>): Markup {
  const parts: [string, string[]][] = [
    ["Only in the HTML", [...found.only_html, ...found.links_only_html]],
    ["Only in the plain text", [...found.only_text, ...found.links_only_text]],
  ];
  return html`<div class="card alert"><p><strong>The two signatures differ.</strong></p>${parts
    .filter(([, words]) => words.length > 0)
    .map(([title, words]) => html`<p>${title}: <bdi lang="">${words.join(" ")}</bdi></p>`)}</div>`;
}
