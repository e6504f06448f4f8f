import type { ReviewCard } from "#src/channels/card/reviewCard.ts";
import { area, button, choice, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { maxReasonBytes } from "../../approvalPages/form.ts";
import type { PageContext } from "../framework/visit.ts";
import type { ReviewQuery } from "./place.ts";

/** The drafts next to this one in the list. */
export type Neighbours = { next: string | undefined; previous: string | undefined };

/** An action that was not done: why, and the reason that was typed. */
export type NotDone = { sentence: string; reason?: string };

export type SelectedDraftOptions = { place: ReviewQuery; neighbours: Neighbours; notDone: NotDone | undefined };

/** `isMine`: this person has approved this version already. */
export type OwnVote = { isMine: boolean };

type Decision = {
  draftId: string;
  card: ReviewCard;
  votes: OwnVote;
  reasons: readonly string[];
  options: SelectedDraftOptions;
};

/** The forms for deciding about a pending draft. Each contains the version shown, and can decide only about that version. */
export function decisionSection(visit: PageContext, decision: Decision): Markup {
  return html`<section aria-labelledby="decision" class="decision">
<h2 id="decision" tabindex="-1">Your decision</h2>
${visit.may("decide:drafts") ? choices(visit, decision) : html`<p>Your role in this workspace does not allow you to decide about drafts.</p>`}
</section>`;
}

function choices(visit: PageContext, decision: Decision): Markup {
  const { draftId, card, votes } = decision;
  const onward = hidden(decision);
  const approve = votes.isMine
    ? form(
        visit,
        { action: `/review/${draftId}/undo` },
        html`<p>You have approved this version. Other approvers have to approve it too.</p>`,
        onward,
        button("Undo your approval", { id: "approve" }),
      )
    : form(
        visit,
        { action: `/review/${draftId}/approve`, className: "approve" },
        onward,
        html`<button class="button approve" id="approve" data-key="a">${card.approve}</button>`,
      );
  return html`<div class="choices">${approve}${rejectForm(visit, decision, onward)}</div>
<div class="buttons"><a class="press" data-key="e" href="/review/${draftId}/edit">Edit and approve</a>
${visit.may("write:drafts") && form(visit, { action: `/review/${draftId}/ask-again`, className: "inline" }, onward, button("Remind approvers", { kind: "quiet" }))}</div>
<p class="meta">Version ${card.version}</p>`;
}

const rejectForm = (visit: PageContext, { draftId, reasons, options }: Decision, onward: Markup): Markup =>
  form(
    visit,
    { action: `/review/${draftId}/reject`, className: "reject" },
    onward,
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
      value: options.notDone?.reason,
      rows: 3,
      maxlength: maxReasonBytes,
      className: "reason",
    }),
    button("Reject", { kind: "reject" }),
  );

/** Hidden inputs: the version shown, and the next page. */
function hidden({ card, options: { place, neighbours } }: Decision): Markup {
  const fields = { version: card.version, next: neighbours.next, identity: place.identity, from: place.from };
  return html`${Object.entries(fields).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}`;
}
