import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView, RecordedOutcome } from "#src/channels/approvalView.ts";
import type { ReviewCard } from "#src/channels/card/reviewCard.ts";
import type { SendObstacle } from "#src/commands/approvals/sendObstacle.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import {
  answersSection,
  changesSection,
  letterSection,
  newerSection,
  rationaleSection,
} from "../../approvalPages/draftSections.ts";
import type { PageContext } from "../framework/visit.ts";
import type { SelectedDraftOptions } from "./decisionForms.ts";
import { decisionSection, type OwnVote } from "./decisionForms.ts";
import { lookingPart } from "./looking.ts";
import { obstacleSentences } from "./obstacles.ts";
import { reviewPath } from "./place.ts";

/** The selected draft with everything its section shows. */
export type SelectedDraft = {
  view: CardedView;
  votes: OwnVote;
  obstacle: SendObstacle | undefined;
  /** Names of other people who are viewing it. */
  looking: readonly string[];
  /** Earlier rejection reasons of this workspace, to choose from. */
  reasons: readonly string[];
};

export function chosenSection(visit: PageContext, chosen: SelectedDraft, options: SelectedDraftOptions): Markup {
  const { view } = chosen;
  const { card } = view;
  const { notDone } = options;
  return html`<article id="chosen" class="chosen" aria-labelledby="chosen-title">
<h2 id="chosen-title" tabindex="-1"><bdi lang="">${card.threadSubject || "(no subject)"}</bdi></h2>
${notDone && html`<div class="card alert" role="alert"><p><strong>Nothing was decided.</strong> ${notDone.sentence}</p></div>`}
${walk(options)}
${standing(visit, chosen)}
${view.decided === null ? waiting(visit, card, { chosen, options }) : html`<details><summary>Show the draft</summary>${letterSection(card.letter, "The draft")}</details>`}
</article>`;
}

function walk({ neighbours: { next, previous }, place: { identity, from } }: SelectedDraftOptions): Markup {
  const link = (draft: string | undefined, key: string, label: string) =>
    draft !== undefined &&
    html`<a class="press" data-key="${key}" href="${reviewPath({ draft, identity, from })}">${label}</a> `;
  return html`<p class="walk">${link(previous, "k", "Previous")}${link(next, "j", "Skip")}</p>`;
}

function waiting(
  visit: PageContext,
  card: ReviewCard,
  { chosen, options }: { chosen: SelectedDraft; options: SelectedDraftOptions },
): Markup {
  return html`${lookingPart(visit, chosen.view.draftId, chosen.looking)}
<p class="soft">${card.lead}</p>
${approvals(visit, chosen.view)}
${card.escalation && html`<p class="soft"><strong>${card.escalation.left} left.</strong> If it is not decided by ${when(visit, card.escalation.at)}, another approver will be asked.</p>`}
<p><a class="skip" href="#decision">Go to the decision</a></p>
${warningsSection(card, chosen)}
${card.newer && newerSection(card.newer)}
${card.changes && changesSection(card.changes)}
${letterSection(card.letter, "The draft")}
${decisionSection(visit, { draftId: chosen.view.draftId, card, votes: chosen.votes, reasons: chosen.reasons, options })}
${rationaleSection(card)}
${answersSection(card)}`;
}

function warningsSection({ warnings, hints }: ReviewCard, { obstacle, view }: SelectedDraft): Markup | false {
  const obstacles = obstacle === undefined ? [] : obstacleSentences(obstacle, view);
  return (
    warnings.length + hints.length + obstacles.length > 0 &&
    html`<section class="warnings" aria-labelledby="warnings"><h2 id="warnings">Before you decide</h2>
<ul>${obstacles.map((sentence) => html`<li>${sentence}</li>`)}${warnings.map((warning) => html`<li>${warning}</li>`)}${hints.map((hint) => html`<li class="hint">Hint: ${hint}</li>`)}</ul></section>`
  );
}

function approvals(visit: PageContext, { approvals }: ApprovalView): Markup | false {
  if (!approvals) return false;
  const { required, given } = approvals;
  const lacking = Math.max(0, required - given.length);
  return html`<p><strong>${given.length} of ${required} approvals given${lacking > 0 && `, ${lacking} ${lacking === 1 ? "is" : "are"} missing`}.</strong> ${given.map(({ by, at }) => html`<bdi>${shortLine(by, 100)}</bdi>, ${when(visit, at)}. `)}</p>`;
}

/**
 * The draft's changes since the page was loaded. Only this part refreshes itself: the mail and the person's input stay, and the person
 * decides when to reload.
 */
function standing(visit: PageContext, { view }: SelectedDraft): Markup {
  return html`<div id="standing" class="standing">${standingSentence(visit, view)}</div>`;
}

function standingSentence(visit: PageContext, view: ApprovalView): Markup | false {
  if (view.decided !== null)
    return html`<div class="card outcome"><p data-announce>${outcome(visit, view.decided)}</p></div>`;
  const shown = Number(visit.query.get("shown") ?? view.version);
  const again = html`<a class="press" href="${reviewPath({ draft: view.draftId })}">Show it</a>`;
  if (shown !== view.version) {
    return html`<div class="card alert"><p data-announce>This draft changed while you were reading: version ${view.version} is now the newest. You can no longer decide about the version below. ${again}</p></div>`;
  }
  if (visit.query.get("newer") === "no" && view.newerMessage !== null) {
    return html`<div class="card alert"><p data-announce>A newer message has arrived. This draft cannot be sent. ${again}</p></div>`;
  }
  return false;
}

const outcomes: Record<RecordedOutcome["decision"], string> = {
  approved: "Approved, and not sent yet",
  sending: "Approved and on its way",
  sent: "Approved and sent",
  rejected: "Rejected",
  stale: "Not sent: a newer message arrived",
  failed: "It could not be delivered",
};

/** A sentence on the decision: by whom and when. */
function outcome(visit: PageContext, { decision, by, at, reason }: RecordedOutcome): Markup {
  const who = by !== null && decision !== "stale" && html` by <bdi>${shortLine(visibleLine(by), 100)}</bdi>`;
  return html`<strong>${outcomes[decision]}</strong>${who}, ${when(visit, at)}.${reason && html` ${decision === "failed" ? "What happened" : "Reason"}: <span dir="auto" lang="">${reason}</span>`}`;
}
