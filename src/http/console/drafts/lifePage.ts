import { explainDraft } from "#src/commands/drafts/life/explain.ts";
import type { DraftLife } from "#src/commands/drafts/life/life.ts";
import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { ProofState } from "../audit/proofState.ts";
import { proofSection } from "../audit/proofView.ts";
import { hashView } from "./hashView.ts";
import { type HistoryReader, phraseMarkup } from "./phraseMarkup.ts";
import { type DraftSteps, mostSteps } from "./readDraftSteps.ts";
import { statusWords } from "./statusWords.ts";
import type { Step } from "./steps.ts";
import { stepItem } from "./stepView.ts";
import { lifeOfDraft } from "./wire.ts";

export const titleOf = ({ subject }: Pick<WireDraft, "subject">): string => shortLine(subject, 120) || "(no subject)";

const tones: Record<DraftLife["status"], "good" | "bad" | "wait"> = {
  ...{ pending: "wait", approved: "wait", sending: "wait", stale: "wait" },
  ...{ sent: "good", rejected: "bad", failed: "bad" },
};

/** Answers "why was this sent?", or why it was not. */
export const answerView = (reader: HistoryReader, life: DraftLife): Markup =>
  html`<div class="card outcome ${tones[life.status]}"><p class="answer">${phraseMarkup(reader, explainDraft(life))}</p></div>`;

/** The heading of every page about a draft. */
export const headView = (draft: WireDraft): Markup => html`<h1><bdi lang="">${titleOf(draft)}</bdi></h1>
<p class="meta">${statusWords[draft.status]} · version ${draft.version} · <a href="/threads/${draft.thread_id}">Its conversation</a> · <a href="/drafts">All drafts</a></p>`;

const isOpen = ({ status }: WireDraft): boolean => ["pending", "approved", "sending"].includes(status);

/** Refreshes the content when the draft changes, unless its state is final. */
const moving = (draft: WireDraft, content: MarkupValue): Markup =>
  isOpen(draft)
    ? html`<div id="life" hx-get="/drafts/${draft.id}" hx-trigger="live:drafts from:body" hx-select="#life" hx-target="#life" hx-swap="outerHTML">${content}</div>`
    : html`<div id="life">${content}</div>`;

/** The reader, and whether they may decide about drafts. */
export type LifePageReader = HistoryReader & { mayDecide: boolean };

const decisionLink = ({ mayDecide }: LifePageReader, { id, status }: WireDraft): Markup | false =>
  mayDecide && status === "pending" && html`<p><a class="press" href="/review?draft=${id}">Decide about it</a></p>`;

/** A draft's page for people who may read histories. `letter`: the section about its newest version. `proof`: how far it is proven. */
export function lifePage(
  reader: LifePageReader,
  { draft, steps, isWhole }: DraftSteps,
  { letter, proof }: { letter: Markup; proof: ProofState },
): Markup {
  const last = steps.at(-1) as Step;
  return html`${headView(draft)}
${moving(
  draft,
  html`${answerView(reader, isWhole ? last.life : lifeOfDraft(draft))}
${decisionLink(reader, draft)}
<p><a href="/drafts/${draft.id}/print">Print or save</a></p>
${isWhole && hashView(reader, steps, { draftId: draft.id })}
${proofSection(reader, proof, draft)}
${letter}
<section aria-labelledby="walk"><h2 id="walk">What happened</h2>
<p class="meta">Each step has its own page, which shows the draft as it was then.</p>
<ol class="walk">${steps.map((step) => stepItem(reader, step, { draftId: draft.id }))}</ol>
${!isWhole && html`<p class="meta">Only its first ${mostSteps} steps are shown here. <code>GET /v1/drafts/${draft.id}/history</code> has them all.</p>`}
</section>`,
)}`;
}

/** A draft's page for people who may read drafts but no histories. `letter`: the section about its newest version. */
export const draftPage = (reader: LifePageReader, draft: WireDraft, letter: Markup): Markup => html`${headView(draft)}
${moving(
  draft,
  html`${answerView(reader, lifeOfDraft(draft))}
${decisionLink(reader, draft)}
<div class="card"><p>The history shows who was asked, who decided what and when, and what was sent. Only owners, admins and auditors of this workspace can see it: ask one of them, or ask an owner to change your role.</p></div>
${letter}`,
)}`;
