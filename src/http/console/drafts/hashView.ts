import { type HashStage, hashStages, isOneContent } from "#src/commands/drafts/life/hashes.ts";
import type { DraftLife } from "#src/commands/drafts/life/life.ts";
import { html, type Markup } from "#src/html/html.ts";
import { whenExactly } from "#src/html/times.ts";
import { contentSha256 } from "#src/mail/out/content.ts";
import type { HistoryReader } from "./phraseMarkup.ts";
import type { Step } from "./steps.ts";

/** Shows whether the sent mail is what was approved, by the recorded hashes and by the content. */
export function hashView(
  reader: HistoryReader,
  steps: readonly Step[],
  { draftId, opened = false }: { draftId: string; opened?: boolean },
): Markup {
  const { life, version } = steps.at(-1) as Step;
  const stages = hashStages(life);
  const made =
    steps.find((step) => step.version.version === (stages[0]?.version ?? version.version))?.version ?? version;
  const anew = contentSha256(made.content);
  const isAsApproved = stages.every(({ sha256 }) => sha256 === anew);
  return html`<section aria-labelledby="hashes">
<h2 id="hashes">Is it what was approved?</h2>
${verdict(stages, isAsApproved)}
<dl class="hashes">${stages.map(
    ({ stage, version, sha256, at }) =>
      html`<dt>As ${stage}</dt><dd>version ${version}, ${whenExactly(reader, at)}<br><bdi class="code">${sha256}</bdi></dd>`,
  )}<dt>Computed now</dt><dd>from the content of version ${made.version} in the log<br><bdi class="code">${anew}</bdi></dd></dl>
<details${opened && html` open`}><summary>Check it yourself</summary>
<p>The hash is the SHA-256 of the content as RFC 8785 JSON: <code>GET /v1/drafts/${draftId}/content?version=${made.version}</code> returns exactly that object.</p>
${handedOverNote(life)}
<p>Signed proofs for somebody who does not trust this service, with a program that checks them: <code>GET /v1/drafts/${draftId}/evidence</code>. <a href="/docs/prove">How to prove a draft</a>. <a href="/docs/contract#from-the-approval-to-the-bytes-that-left">How the approval is tied to the bytes that were sent</a></p>
</details>
</section>`;
}

function verdict(stages: readonly HashStage[], isAsApproved: boolean): Markup {
  if (stages.length === 0) return html`<p>It has not been approved, so there is nothing to compare.</p>`;
  if (!isOneContent(stages) || !isAsApproved) {
    return html`<p class="alert card" role="alert"><strong>No: these hashes are not the same.</strong> Download the evidence, and ask the operator to investigate.</p>`;
  }
  const last = stages.at(-1)?.stage;
  if (last === "handed over") {
    return html`<p><strong>Yes.</strong> What was approved, what was queued and what was handed over is the same version with the same hash.</p>`;
  }
  return html`<p><strong>So far, yes.</strong> ${last === "queued" ? "What was approved and what was queued is the same version with the same hash." : "It has not been queued yet."} Nothing has been handed over.</p>`;
}

function handedOverNote({ handover }: DraftLife): Markup | false {
  const started = "started" in handover ? handover.started : null;
  return (
    started !== null &&
    html`<p>The bytes that were handed over have the SHA-256 <bdi class="code">${started.mimeSha256}</bdi>, recorded before the first byte was sent. You can download them from the step of the hand-over.</p>`
  );
}
