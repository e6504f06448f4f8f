import type { ReviewCard } from "#src/channels/card/reviewCard.ts";
import { area, button, choice, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { maxReasonBytes } from "../../approvalPages/form.ts";
import type { Visit } from "../framework/visit.ts";
import type { Place } from "./place.ts";

/** The way through the list from this draft. */
export type Neighbours = { next: string | undefined; previous: string | undefined };

/** What a press came to that decided nothing: a sentence, and what was typed. */
export type NotDone = { sentence: string; reason?: string };

export type ChosenOptions = { place: Place; neighbours: Neighbours; notDone: NotDone | undefined };

/** This person has approved this version already. */
export type Votes = { isMine: boolean };

type Decision = { draftId: string; card: ReviewCard; votes: Votes; reasons: readonly string[]; options: ChosenOptions };

/** What can be done about a draft that waits. Each form names the version that is shown: of no other anything is decided. */
export function decisionSection(visit: Visit, decision: Decision): Markup {
  return html`<section aria-labelledby="decision" class="decision">
<h2 id="decision" tabindex="-1">Your decision</h2>
${visit.may("decide:drafts") ? choices(visit, decision) : html`<p>Your role in this workspace does not decide about drafts.</p>`}
</section>`;
}

function choices(visit: Visit, decision: Decision): Markup {
  const { draftId, card, votes } = decision;
  const onward = hidden(decision);
  const approve = votes.isMine
    ? form(
        visit,
        { action: `/review/${draftId}/undo` },
        html`<p>You have approved this version. Others have to approve it too.</p>`,
        onward,
        button("Take your approval back", { id: "approve" }),
      )
    : form(
        visit,
        { action: `/review/${draftId}/approve`, className: "approve" },
        onward,
        html`<button class="button approve" id="approve" data-key="a">${card.approve}</button>`,
      );
  return html`<div class="choices">${approve}${rejectForm(visit, decision, onward)}</div>
<div class="buttons"><a class="press" data-key="e" href="/review/${draftId}/edit">Edit and approve</a>
${visit.may("write:drafts") && form(visit, { action: `/review/${draftId}/ask-again`, className: "inline" }, onward, button("Ask the approvers again", { kind: "quiet" }))}</div>
<p class="meta">You decide about version ${card.version}.</p>`;
}

const rejectForm = (visit: Visit, { draftId, reasons, options }: Decision, onward: Markup): Markup =>
  form(
    visit,
    { action: `/review/${draftId}/reject`, className: "reject" },
    onward,
    reasons.length > 0 &&
      choice({
        name: "said",
        label: "A reason given before",
        choices: [
          { value: "", label: "None of these" },
          ...reasons.map((reason) => ({ value: reason, label: shortLine(reason, 100) })),
        ],
      }),
    area({
      name: "reason",
      label: reasons.length > 0 ? "Or another reason" : "Reason",
      hint: "The agent reads it.",
      value: options.notDone?.reason,
      rows: 3,
      maxlength: maxReasonBytes,
      className: "reason",
    }),
    button("Reject", { kind: "reject" }),
  );

/** Which version was shown, and where to go on. */
function hidden({ card, options: { place, neighbours } }: Decision): Markup {
  const fields = { version: card.version, next: neighbours.next, identity: place.identity, from: place.from };
  return html`${Object.entries(fields).map(([name, value]) => value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`)}`;
}
