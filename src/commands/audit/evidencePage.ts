import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { readableTime } from "#src/html/times.ts";
import type { Recorded } from "#streams/event.ts";
import type { EarlierContent } from "../drafts/draftHistories.ts";
import { actorInWords } from "../drafts/life/people.ts";
import { toPlainText } from "../drafts/life/phrases.ts";
import type { ProvenEntry, Prover } from "./proofs.ts";

/** A version of a draft, with its content. */
export type ShownVersion = EarlierContent & { version: number };

type EvidencePage = {
  draftId: string;
  /** The sentence that says why the draft was sent, or why not. */
  answer: string;
  prover: Pick<Prover, "head" | "verifierKey">;
  entries: readonly ProvenEntry[];
  shown: ShownVersion;
};

/** The page of a draft's evidence that a person reads, without the service and without script. */
export const evidencePage = ({ draftId, answer, prover, entries, shown }: EvidencePage): string =>
  page({
    title: `Evidence: draft ${draftId}`,
    main: html`<h1>Evidence of a draft</h1>
<p><strong>${answer}</strong></p>
<p>Draft <code>${draftId}</code>: complete to revision ${lastRevision(entries)} at the head of ${prover.head.size} entries, signed on ${readableTime(prover.head.signedAt.toISOString(), { seconds: true })}.</p>
<h2>What happened</h2>
<table><thead><tr><th>entry</th><th>when</th><th>what</th><th>who</th></tr></thead><tbody>
${entries.map(entryRow)}</tbody></table>
<h2>Version ${shown.version}</h2>
${contentView(shown)}
<h2>Check it</h2>
<p>With Node.js 20 or later, in this folder and without a network: <code>node verify.mjs</code>. It checks the signature of the head, the proof of each entry, each disclosed value, the order of approval and hand-over, and the mails.</p>
<p>With a head that you kept: <code>node verify.mjs --expect FILE</code>. With the public key that you got from elsewhere: <code>node verify.mjs --key KEY</code>. This head was signed by <code>${prover.verifierKey}</code>; the service publishes its keys at <code>/.well-known/countersign-audit-keys</code>.</p>
<p>The formats are public (C2SP tlog-proof, tlog-policy, tlog-checkpoint and signed-note; RFC 6962; RFC 9901): other programs check the files in <code>proofs</code> and <code>entries</code> too.</p>
<h2>What it cannot show</h2>
<ul>
<li>What happened after this head, and whether events of this draft after the last revision here were left out.</li>
<li>That the service signed no other history for somebody else: compare heads with other people who keep them.</li>
<li>Which person used a key, a session or a link: the entries have whom the service knew at that time.</li>
<li>That <code>sent.eml</code> says what <code>content.json</code> says: one entry names the hashes of both, before the first byte was sent. Compare them by reading.</li>
<li>That somebody read the mail. The provider's reports are what the provider said.</li>
</ul>`,
  });

const lastRevision = (entries: readonly ProvenEntry[]): number =>
  Math.max(...entries.filter(({ event }) => event.stream.startsWith("draft-")).map(({ event }) => event.revision));

const entryRow = ({ entry, event }: ProvenEntry): Markup =>
  html`<tr><td><a href="entries/${entry}.json">${entry}</a> (<a href="proofs/${entry}.tlog-proof">proof</a>)</td><td>${readableTime(event.metadata.at, { seconds: true })}</td><td>${typeInWords(event)}${facts(event)}</td><td>${toPlainText(actorInWords(event.metadata.actor))}</td></tr>
`;

const typeInWords = ({ type }: Recorded): string => type.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();

/** Returns the version and the hashes that an event names. */
const facts = ({ data }: Recorded): Markup[] =>
  [
    typeof data.version === "number" && html`, version ${data.version}`,
    typeof data.contentSha256 === "string" && html`<br>content <code>${data.contentSha256}</code>`,
    typeof data.mimeSha256 === "string" && html`<br>mail <code>${data.mimeSha256}</code>`,
    typeof data.rawSha256 === "string" && html`<br>mail <code>${data.rawSha256}</code>`,
  ].filter((fact) => fact !== false);

const contentView = ({ content, contentSha256 }: ShownVersion): Markup =>
  html`<p>SHA-256 of <a href="content.json">content.json</a>: <code>${contentSha256}</code></p>
<dl><dt>From</dt><dd>${content.from.name} &lt;${content.from.address}&gt;</dd>
<dt>To</dt><dd>${content.to.join(", ")}</dd>
${content.cc.length > 0 && html`<dt>Cc</dt><dd>${content.cc.join(", ")}</dd>`}${content.bcc.length > 0 && html`<dt>Bcc</dt><dd>${content.bcc.join(", ")}</dd>`}
<dt>Subject</dt><dd>${content.subject}</dd></dl>
<pre>${content.body_text ?? content.body_html}</pre>
${content.signature_text !== null && html`<pre>${content.signature_text}</pre>`}`;
