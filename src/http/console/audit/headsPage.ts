import { blankSlate } from "#src/html/blankSlate.ts";
import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import type { Answers, ListItem } from "../../routes.ts";
import { type PageLinks, pages } from "../framework/pageLinks.ts";

type Head = ListItem<"GET /v1/audit/heads">;

/** `contradicted`: the tree does not continue its newest head. `unsigned`: number of entries after the newest head. */
export type HeadsView = {
  heads: Answers["GET /v1/audit/heads"];
  newest: Head | undefined;
  contradicted: boolean;
  unsigned: number;
  links: PageLinks;
  publicUrl: string;
  workspaceId: string;
};

/** The signed heads of a workspace's audit tree, what they prove, and how to keep them. */
export const headsPage = (reader: { zone: string }, view: HeadsView): Markup => html`<h1>Signed heads</h1>
<p class="meta"><a href="/audit">Find a draft's history</a></p>
<p>Every event of this workspace is an entry of its audit tree. A head is the tree's number of entries and one hash over all of them, signed by this service. An entry that is changed, removed, added between others or put in another order changes the hash.</p>
${view.contradicted && contradiction}
${view.newest === undefined ? nothing : html`${newestSection(reader, view, view.newest)}${keepSection}${listSection(reader, view)}`}`;

const contradiction = html`<p class="alert card" role="alert"><strong>The events of this workspace do not continue the newest head.</strong> They were changed, or the database was restored from a backup. Nothing is signed until the operator has found out why: ask them, and keep the heads below.</p>`;

const nothing = blankSlate("No head is signed yet", {
  text: "The first one is signed within an hour of the first event, or when somebody downloads the evidence of a draft.",
  action: { path: "/audit", label: "Find a draft" },
});

function newestSection(
  reader: { zone: string },
  { unsigned, publicUrl, workspaceId }: HeadsView,
  { size, root, signed_at, epoch, verifier_key, witnesses, checkpoint }: Head,
): Markup {
  const tree = `${publicUrl}/audit/${workspaceId}/${epoch}`;
  return html`<section aria-labelledby="newest"><h2 id="newest">The newest head</h2>
<p><strong>${counted(size, "entry", "entries")}</strong>, signed ${when(reader, signed_at)}. ${unsigned === 0 ? "Nothing has happened since." : html`${counted(unsigned, "newer entry is", "newer entries are")} not under a signed head yet. The next head is signed within an hour.`}</p>
<dl>
<dt>Root hash</dt><dd><bdi class="code">${root}</bdi></dd>
<dt>Verifier key</dt><dd><bdi class="code">${verifier_key}</bdi></dd>
<dt>Public keys</dt><dd><a href="/.well-known/countersign-audit-keys"><bdi class="code">${publicUrl}/.well-known/countersign-audit-keys</bdi></a></dd>
<dt>Checkpoint</dt><dd><bdi class="code">${tree}/checkpoint</bdi></dd>
<dt>Tiles</dt><dd><bdi class="code">${tree}/tile/…</bdi> For programs that read C2SP tlog-tiles, with an API key that has <code>read:audit</code></dd>
<dt>Witnesses</dt><dd>${witnessNames(witnesses)}</dd>
</dl>
<details><summary>The signed text</summary><pre class="source" tabindex="0" aria-label="The newest checkpoint" dir="ltr" lang="">
${checkpoint}</pre></details></section>`;
}

/** Witnesses have signed that this head continues the ones that they saw before. */
const witnessNames = (names: readonly string[]): Markup | string =>
  names.length === 0
    ? "none"
    : html`<ul class="plain">${names.map((name) => html`<li><bdi class="code">${name}</bdi></li>`)}</ul>`;

const keepSection = html`<section aria-labelledby="keep"><h2 id="keep">Keep heads outside</h2>
<p>Whoever runs the service has its key, and could sign another history. They cannot do so unnoticed for a head that you have: evidence of today must continue it, and <code>verify.mjs --expect</code> compares them.</p>
<ul><li>Subscribe a webhook of yours to <code>audit.checkpoint</code>: it gets each new head, at most one an hour. Store each one where the service's operator cannot change it.</li>
<li>Or keep the <code>checkpoint</code> of every archive of evidence that you checked, with the day on which you received it.</li></ul>
<p>A head does not prove that its times are right, that nothing was left out before it was recorded, or anything that happened after it. <a href="/docs/prove#keep-heads">How to keep and compare heads</a></p></section>`;

const listSection = (reader: { zone: string }, { heads, links }: HeadsView): Markup =>
  html`<section aria-labelledby="all"><h2 id="all">${counted(heads.total, "head")}, the newest first</h2>
<div class="scroll" tabindex="0" role="region" aria-label="Signed heads"><table class="heads"><thead><tr><th scope="col">Entries</th><th scope="col">Signed</th><th scope="col">Root hash</th><th scope="col">Witnesses</th></tr></thead>
<tbody>${heads.data.map(
    ({
      epoch,
      size,
      signed_at,
      root,
      witnesses,
    }) => html`<tr><th scope="row">${size.toLocaleString("en")}${epoch > 1 && html` <span class="meta">epoch ${epoch}</span>`}</th>
<td>${when(reader, signed_at)}</td><td><bdi class="code">${root}</bdi></td><td>${witnessNames(witnesses)}</td></tr>`,
  )}</tbody></table></div>
${pages(links, "heads")}</section>`;
