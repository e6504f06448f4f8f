import { actorInWords } from "#src/commands/drafts/life/people.ts";
import { html, type Markup } from "#src/html/html.ts";
import { whenExactly } from "#src/html/times.ts";
import { handOverStep } from "./handedOver.ts";
import { answerView, headView } from "./lifePage.ts";
import { type HandedOver, mimeView } from "./mimeView.ts";
import { type HistoryReader, phraseMarkup } from "./phraseMarkup.ts";
import type { DraftSteps } from "./readDraftSteps.ts";
import type { Step } from "./steps.ts";
import { stepBody, stepPath } from "./stepView.ts";

/**
 * A draft at one step: the event, the state after it and the content at that time. `letter`: the section about the content. `handedOver`:
 * the mail, at the step of its hand-over.
 */
export function stepPage(
  reader: HistoryReader,
  { draft, steps }: DraftSteps,
  { step, letter, handedOver }: { step: Step; letter: Markup; handedOver: HandedOver | undefined },
): Markup {
  const walk = (label: string) => stepNav(label, { draftId: draft.id, n: step.n, count: steps.length });
  return html`${headView(draft)}
${walk("Steps")}
<section aria-labelledby="step"><h2 id="step">Step ${step.n} of ${steps.length}: ${phraseMarkup(reader, step.what)}</h2>
<p class="meta">${whenExactly(reader, step.event.at)} · by ${phraseMarkup(reader, actorInWords(step.event.actor))}</p>
${stepBody(reader, step, { draftId: draft.id, opened: false })}
</section>
${mailOf({ step, steps, handedOver, draftId: draft.id })}
<h2>What was known about it then</h2>
${answerView(reader, step.life)}
${letter}
${walk("Steps, once more")}`;
}

function mailOf({
  step,
  steps,
  handedOver,
  draftId,
}: {
  step: Step;
  steps: readonly Step[];
  handedOver: HandedOver | undefined;
  draftId: string;
}): Markup | false {
  if (step.event.type !== "DeliveryStarted") return false;
  if (handedOver) return mimeView(handedOver);
  const newest = handOverStep(steps);
  return newest === step
    ? html`<section><h2>What was handed over</h2><p>The mail cannot be read at the moment.</p></section>`
    : html`<section><h2>What was handed over</h2><p>A later attempt replaced this one. <a href="${stepPath(draftId, newest?.n ?? step.n)}">See the mail of that attempt</a>; of this one, the log has only the hash above.</p></section>`;
}

const stepNav = (
  label: string,
  { draftId, n, count }: { draftId: string; n: number; count: number },
): Markup => html`<nav class="steps" aria-label="${label}"><ul>
<li>${n > 1 ? html`<a rel="prev" href="${stepPath(draftId, n - 1)}">← Step ${n - 1}</a>` : html`<span class="soft">The first step</span>`}</li>
<li><a href="/drafts/${draftId}#step-${n}">All steps</a></li>
<li>${n < count ? html`<a rel="next" href="${stepPath(draftId, n + 1)}">Step ${n + 1} →</a>` : html`<span class="soft">The newest step</span>`}</li>
</ul></nav>`;
