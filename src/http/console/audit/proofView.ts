import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import type { ProofState } from "./proofState.ts";

/** Says how far a draft's history is proven, and offers the evidence. */
export const proofSection = (
  reader: { zone: string },
  state: ProofState,
  draft: { id: string; thread_id: string },
): Markup => html`<section aria-labelledby="proof">
<h2 id="proof">Can it be proved to an outsider?</h2>
${proofSentence(reader, state)}
${state.is !== "contradicted" && evidenceLink(draft)}
</section>`;

/** How far a draft's history is proven, in one paragraph. */
export function proofSentence(reader: { zone: string }, state: ProofState): Markup {
  switch (state.is) {
    case "contradicted":
      return html`<p class="alert card" role="alert"><strong>No: the events of this workspace do not continue a head that was signed.</strong> They were changed, or the database was restored from a backup. Nothing is proven until the operator has found out why. <a href="/audit/heads">Signed heads</a></p>`;
    case "unsigned":
      return html`<p><strong>Not yet:</strong> no signed head includes its events. ${nextHead}</p>`;
    case "proved":
      return html`<p><strong>Proved to head of ${counted(state.size, "entry", "entries")}</strong>, signed ${when(reader, state.signedAt)}.${state.newer > 0 && html` ${state.newer === 1 ? "Its newest event is" : `Its newest ${state.newer} events are`} not under a signed head yet. ${nextHead}`}</p>`;
  }
}

const nextHead = "A head is signed within an hour of a new event, and when evidence is downloaded.";

const evidenceLink = ({ id, thread_id }: { id: string; thread_id: string }): Markup =>
  html`<p class="screen"><a class="button" href="/drafts/${id}/evidence" download>Download the evidence</a></p>
<p class="meta screen">A ZIP archive with the history to read offline, the mails, a proof for each event, and a program that checks all of it without this service. <a href="/docs/prove">How to check it</a> · <a href="/audit/heads">Signed heads</a> · <a href="/audit/export?thread=${thread_id}">Export the whole conversation</a></p>`;
