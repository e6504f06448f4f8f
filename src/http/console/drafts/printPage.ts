import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { visibleLine } from "#src/html/visible.ts";
import type { ProofState } from "../audit/proofState.ts";
import { proofSection } from "../audit/proofView.ts";
import { hashView } from "./hashView.ts";
import { answerView, titleOf } from "./lifePage.ts";
import { type HandedOver, mimeView } from "./mimeView.ts";
import type { DraftSteps } from "./readDraftSteps.ts";
import type { Step } from "./steps.ts";
import { stepItem } from "./stepView.ts";
import { lifeOfDraft } from "./wire.ts";

/** Facts about the printed page itself. `at`: an ISO time. */
export type Printed = { workspace: { id: string; name: string }; at: string; by: string; url: string; zone: string };

/**
 * A draft's complete history, unfolded and text only, for printing or saving. `letter`: the section about its newest version. `proof`: how
 * far it is proven.
 */
export function printPage(
  walk: DraftSteps,
  printed: Printed,
  { letter, handedOver, proof }: { letter: Markup; handedOver: HandedOver | undefined; proof: ProofState },
): Markup {
  const { draft, steps, isWhole } = walk;
  const last = steps.at(-1) as Step;
  return html`<div class="printed"><h1>The life of a draft: <bdi lang="">${titleOf(draft)}</bdi></h1>
<dl><dt>Draft</dt><dd><bdi class="code">${draft.id}</bdi></dd>
<dt>Workspace</dt><dd><bdi lang="">${visibleLine(printed.workspace.name)}</bdi> (<bdi>${printed.workspace.id}</bdi>)</dd>
<dt>Printed</dt><dd>${when(printed, printed.at)}, times in ${printed.zone}, by <bdi lang="">${visibleLine(printed.by)}</bdi></dd>
<dt>Log position</dt><dd>${last.event.position}, of its newest step</dd>
<dt>From</dt><dd><bdi>${printed.url}</bdi></dd></dl>
<p class="screen"><a href="/drafts/${draft.id}">Back to the draft</a>. Print this page with your browser, or save it as a file.</p>
${answerView(printed, isWhole ? last.life : lifeOfDraft(draft))}
${isWhole && hashView(printed, steps, { draftId: draft.id, opened: true })}
${proofSection(printed, proof, draft)}
${letter}
<section aria-labelledby="walk"><h2 id="walk">What happened</h2>
<ol class="walk">${steps.map((step) => stepItem(printed, step, { draftId: draft.id, opened: true }))}</ol>
${!isWhole && html`<p>It has more steps than these ${steps.length}.</p>`}</section>
${handedOver && mimeView(handedOver, { opened: true })}</div>`;
}
