import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView, RequestedChanges } from "#src/channels/approvalView.ts";
import type { ApprovalWarning } from "#src/channels/approvalWarnings.ts";
import type { ReviewCard } from "#src/channels/card/reviewCard.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import {
  answersSection,
  changesSection,
  letterSection,
  newerSection,
  rationaleSection,
} from "../../approvalPages/draftSections.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { assigneePart } from "./assigneePart.ts";
import { changesSinceLoaded } from "./changesSinceLoaded.ts";
import { decisionBar, neighbourLinks, remindForm } from "./decisionBar.ts";
import { isOrdinary } from "./isOrdinary.ts";
import { obstacleSentences } from "./obstacles.ts";
import type { SelectedDraft, SelectedDraftOptions } from "./selectedDraft.ts";

/**
 * The selected draft: the text that would be sent and why, the message it answers, and the decision, which stays in view. The text comes
 * first, so that a phone's first screen shows it; wide screens show the message at its left.
 */
export function selectedDraftSection(
  context: PageContext,
  chosen: SelectedDraft,
  options: SelectedDraftOptions,
): Markup {
  const { view } = chosen;
  const { card } = view;
  const { notDone } = options;
  return html`<article id="chosen" class="chosen" aria-labelledby="chosen-title" data-card="${view.draftId} ${card.version} ${card.contentSha256}">
<h2 id="chosen-title" tabindex="-1"><bdi lang="">${card.threadSubject || "(no subject)"}</bdi></h2>
${conversation(chosen)}
${notDone && html`<div class="card alert" role="alert"><p><strong>Nothing was decided.</strong> ${notDone.sentence}</p></div>`}
${view.decided === null ? waiting(context, card, { chosen, options }) : decided(context, view, options)}
</article>`;
}

const conversation = ({ threadId, message }: SelectedDraft): Markup =>
  html`<p class="meta">${message && html`Message ${message.number} of ${message.count}. `}<a href="/threads/${threadId}${message && `#message-${message.id}`}">Open the conversation</a></p>`;

const decided = (context: PageContext, view: CardedView, options: SelectedDraftOptions): Markup =>
  html`${changesSinceLoaded(context, view)}
<details><summary>Show the draft</summary>${letterSection(view.card.letter, "The draft")}</details>
${neighbourLinks(options)}`;

function waiting(
  context: PageContext,
  card: ReviewCard,
  { chosen, options }: { chosen: SelectedDraft; options: SelectedDraftOptions },
): Markup {
  const { view } = chosen;
  const obstacles = chosen.obstacle === undefined ? [] : obstacleSentences(chosen.obstacle, view);
  const about = (part: ApprovalWarning["about"]) =>
    card.placedWarnings.filter((warning) => warning.about === part).map(({ sentence }) => sentence);
  const decision = { chosen, card, options, needsConfirmation: needsConfirmation(chosen, options) };
  return html`${view.changesRequested && waitingForChanges(context, view.changesRequested)}
${approvals(context, view)}
${card.escalation && html`<p class="soft"><strong>${card.escalation.left} left.</strong> If it is not decided by ${when(context, card.escalation.at)}, another approver will be asked.</p>`}
<p><a class="skip-link" href="#decision">Go to the decision</a></p>
${warningList("Before you decide", [...obstacles, ...about("draft")])}
<div class="pair"><div>${card.changes && changesSection(card.changes)}
${letterSection(card.letter, "The draft", { warnings: warningList("About this draft", about("letter")) })}
${rationaleSection(card)}</div>
<div class="answered">${answersSection(card, { warnings: warningList("About this message", about("message"), card.hints) })}
${card.newer && newerSection(card.newer)}</div></div>
<p class="small">${card.lead}</p>
${assigneePart(context, chosen, options)}
<div class="small">Version ${card.version} ${remindForm(context, decision)}</div>
${decisionBar(context, decision)}`;
}

const waitingForChanges = (context: PageContext, { by, at, text }: RequestedChanges): Markup =>
  html`<div class="card alert"><p><strong>The agent is asked for changes.</strong> <bdi>${shortLine(by, 100)}</bdi>, ${when(context, at)}: <span dir="auto" lang="">${text}</span></p>
<p>Nobody can approve this version meanwhile. You are asked about the agent's next version.</p></div>`;

/** True unless everything about the draft is known and ordinary: one key then approves it. */
const needsConfirmation = (chosen: SelectedDraft, { notDone }: SelectedDraftOptions): boolean =>
  !isOrdinary(chosen) || notDone !== undefined;

const warningList = (title: string, warnings: readonly string[], hints: readonly string[] = []): Markup | false =>
  warnings.length + hints.length > 0 &&
  html`<div class="card warnings"><h3>${title}</h3>
<ul>${warnings.map((warning) => html`<li>${warning}</li>`)}${hints.map((hint) => html`<li class="hint">Hint: ${hint}</li>`)}</ul></div>`;

function approvals(context: PageContext, { approvals }: ApprovalView): Markup | false {
  if (!approvals) return false;
  const { required, given } = approvals;
  const lacking = Math.max(0, required - given.length);
  return html`<p><strong>${given.length} of ${required} approvals given${lacking > 0 && `, ${lacking} ${lacking === 1 ? "is" : "are"} missing`}.</strong> ${given.map(({ by, at }) => html`<bdi>${shortLine(by, 100)}</bdi>, ${when(context, at)}. `)}</p>`;
}
