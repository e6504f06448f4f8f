import type { CardedView } from "#src/channels/approvalDecisions.ts";
import { counted } from "#src/html/counted.ts";
import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import {
  answersSection,
  changesSection,
  draftHeadingId,
  letterSection,
  rationaleSection,
} from "../../../approvalPages/draftSections.ts";
import type { PageContext } from "../../framework/pageContext.ts";
import { queueChoiceOf, type ReviewQuery, reviewPath } from "../reviewQuery.ts";
import type { SheetDrafts } from "./sheetDrafts.ts";

/** Outcome of one draft of a sheet. `refusal`: why it was not approved; null if it was. */
export type SheetOutcome = { draftId: string; subject: string; refusal: string | null };

/** Shows several drafts whole, each with a tick, and one button that approves the ticked ones. */
export function sheetPage(context: PageContext, { drafts, left }: SheetDrafts, place: ReviewQuery): Markup {
  const back = html`<p><a class="press" href="${reviewPath(queueChoiceOf(place))}">Back to the queue</a></p>`;
  const others =
    left > 0 &&
    html`<p class="soft">${counted(left, "draft")} of the queue ${left === 1 ? "has" : "have"} a warning, a file or several approvers, so ${left === 1 ? "it is" : "they are"} opened one by one.</p>`;
  if (drafts.length === 0)
    return html`<h1>Several drafts at once</h1>${back}<p>No waiting draft can be decided together with others.</p>${others}`;
  return html`<h1>Several drafts at once</h1>
${back}
<p>Read each draft. Untick those that you do not want to approve now.</p>${others}
${form(
  context,
  { action: "/review/sheet" },
  html`${drafts.map(item)}`,
  context.may("decide:drafts")
    ? button(`${drafts[0]?.card.approve ?? "Approve"}: the ticked drafts`, { kind: "approve" })
    : html`<p>Your role in this workspace does not allow you to decide about drafts.</p>`,
)}`;
}

function item({ draftId, card }: CardedView, index: number): Markup {
  const n = index + 1;
  return html`<section class="card" aria-labelledby="${draftHeadingId(n)}"><h2 id="${draftHeadingId(n)}"><bdi lang="">${card.threadSubject || "(no subject)"}</bdi></h2>
<p><label><input type="checkbox" name="draft" value="${tickOf(draftId, card)}" checked> Approve this draft (version ${card.version})</label>
<a class="press" href="${reviewPath({ draft: draftId })}">Open it</a></p>
<div class="pair"><div>${answersSection(card, { n })}</div>
<div>${card.changes && changesSection(card.changes, { n })}
${letterSection(card.letter, "The draft", { n })}
${rationaleSection(card, { n })}</div></div></section>`;
}

/** Names the draft, the version and the hash that the page shows. */
const tickOf = (draftId: string, { version, contentSha256 }: CardedView["card"]): string =>
  `${draftId} ${version} ${contentSha256}`;

/** Tells which drafts were approved, and why the others were not. */
export function sheetResult(context: PageContext, outcomes: readonly SheetOutcome[]): Markup {
  const done = outcomes.filter(({ refusal }) => refusal === null);
  return html`<h1>${counted(done.length, "draft")} approved</h1>
${
  done.length > 0 &&
  html`<p>They are sent in 10 seconds.</p>${form(
    context,
    { action: "/review/undo-sheet" },
    html`${done.map(({ draftId }) => html`<input type="hidden" name="draft" value="${draftId}">`)}`,
    button("Undo all", { id: "undo" }),
  )}`
}
<ul>${outcomes.map(outcomeItem)}</ul>
<p><a class="press" href="/review/sheet">The next ones</a> <a class="press" href="/review">Back to the queue</a></p>`;
}

const outcomeItem = ({ draftId, subject, refusal }: SheetOutcome): Markup =>
  html`<li><a href="${reviewPath({ draft: draftId })}"><bdi lang="">${shortLine(subject, 100) || "(no subject)"}</bdi></a>: ${refusal === null ? "approved" : html`<strong>not approved.</strong> ${refusal}`}</li>`;
