import { maxReasonBytes } from "#src/channels/approvalDecisions.ts";
import type { ReviewCard } from "#src/channels/card/reviewCard.ts";
import { area, button, choice, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { changesSinceLoaded } from "./changesSinceLoaded.ts";
import { editPath, queueChoiceOf, reviewPath, reviewQueryFields } from "./reviewQuery.ts";
import type { SelectedDraft, SelectedDraftOptions } from "./selectedDraft.ts";
import { viewersPart } from "./viewers.ts";

type Decision = {
  chosen: SelectedDraft;
  card: ReviewCard;
  options: SelectedDraftOptions;
  /** True if the approve key only moves the focus to the button: there is a warning to read, or other approvers are required too. */
  needsConfirmation: boolean;
};

/**
 * The forms for deciding about a pending draft, always in view. Each names the version and content hash shown, and can decide only about
 * that version. Above them: what happened since the page was loaded.
 */
export function decisionBar(context: PageContext, decision: Decision): Markup {
  const { chosen, options } = decision;
  return html`<section aria-labelledby="decision" class="decision">
<h2 id="decision" class="unseen" tabindex="-1">Your decision</h2>
${changesSinceLoaded(context, chosen.view)}
${viewersPart(context, chosen.view.draftId, chosen.looking)}
<div class="bar">${context.may("decide:drafts") ? choices(context, decision) : html`<p>Your role in this workspace does not allow you to decide about drafts.</p>`}
${neighbourLinks(options)}</div>
</section>`;
}

/** Links to the drafts before and after this one, and to the list where a narrow screen hides it. */
export function neighbourLinks({ neighbours, place }: SelectedDraftOptions): Markup {
  const { next, previous, rank, total } = neighbours;
  const link = (draft: string | undefined, key: string, label: string) =>
    draft !== undefined &&
    html`<a class="press" data-key="${key}" href="${reviewPath({ ...queueChoiceOf(place), draft, from: place.from })}">${label}</a> `;
  return html`<nav class="walk" aria-label="Queue">${link(previous, "k", "Previous")}
<a class="press to-list" href="#list">${rank === undefined ? `${total} to review` : `${rank} of ${total}`}</a>
${link(next, "j", "Skip")}</nav>`;
}

function choices(context: PageContext, decision: Decision): Markup {
  const { chosen, options } = decision;
  const edit = editPath(chosen.view.draftId, options.place, options.neighbours.next);
  const isWaiting = chosen.view.changesRequested !== null;
  return html`${isWaiting ? chosen.votes.askedForChanges && withdrawForm(context, decision) : approveForm(context, decision)}
<a class="button" data-key="e" href="${edit}">Edit</a>
${!isWaiting && changesForm(context, decision)}
${rejectForm(context, decision)}`;
}

const approveForm = (context: PageContext, decision: Decision): Markup => {
  const { chosen, card, needsConfirmation } = decision;
  const { draftId } = chosen.view;
  return chosen.votes.isMine
    ? form(
        context,
        { action: `/review/${draftId}/undo` },
        html`<p>You have approved this version. Other approvers have to approve it too.</p>`,
        hidden(decision),
        button("Undo your approval", { id: "approve" }),
      )
    : form(
        context,
        { action: `/review/${draftId}/approve`, className: "approve" },
        hidden(decision),
        html`<button class="button approve" id="approve" data-key="a"${!needsConfirmation && html` data-at-once`}>${card.approve}</button>`,
      );
};

function changesForm(context: PageContext, decision: Decision): Markup {
  const typed = decision.options.notDone?.changes;
  return html`<details class="changes"${typed !== undefined && html` open`}><summary class="button" data-key="c">Ask for changes</summary>
${form(
  context,
  { action: `/review/${decision.chosen.view.draftId}/request-changes`, className: "changes" },
  hidden(decision),
  area({
    name: "wish",
    label: "What should the agent change?",
    hint: "The agent will see this. You are asked about its next version.",
    value: typed,
    rows: 3,
    maxlength: maxReasonBytes,
    required: true,
    className: "reason",
  }),
  button("Ask for changes"),
)}</details>`;
}

const withdrawForm = (context: PageContext, decision: Decision): Markup =>
  form(
    context,
    { action: `/review/${decision.chosen.view.draftId}/withdraw-changes-request` },
    hidden(decision),
    button("Withdraw the request", { id: "approve" }),
  );

function rejectForm(context: PageContext, decision: Decision): Markup {
  const { chosen, options } = decision;
  const { reasons } = chosen;
  const typed = options.notDone?.reason;
  return html`<details class="reject"${typed && html` open`}><summary class="button reject" data-key="r">Reject</summary>
${form(
  context,
  { action: `/review/${chosen.view.draftId}/reject`, className: "reject" },
  hidden(decision),
  reasons.length > 0 &&
    choice({
      name: "said",
      label: "Use an earlier reason",
      choices: [
        { value: "", label: "Choose …" },
        ...reasons.map((reason) => ({ value: reason, label: shortLine(reason, 100) })),
      ],
    }),
  area({
    name: "reason",
    label: reasons.length > 0 ? "Or another reason" : "Reason",
    hint: "The agent will see this.",
    value: typed,
    rows: 3,
    maxlength: maxReasonBytes,
    className: "reason",
  }),
  button("Reject this draft", { kind: "reject" }),
)}</details>`;
}

/** The form that asks the approvers of the draft's channel again. */
export const remindForm = (context: PageContext, decision: Decision): Markup | false =>
  context.may("decide:drafts") &&
  context.may("write:drafts") &&
  form(
    context,
    { action: `/review/${decision.chosen.view.draftId}/ask-again`, className: "inline" },
    hidden(decision),
    button("Remind approvers", { kind: "quiet" }),
  );

/** Hidden inputs: the version and hash shown, and the next page. */
const hidden = ({ card, options: { place, neighbours } }: Decision): Markup =>
  html`<input type="hidden" name="version" value="${card.version}"><input type="hidden" name="hash" value="${card.contentSha256}">${reviewQueryFields(place, neighbours.next)}`;
