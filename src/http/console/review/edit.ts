import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { approveLabel } from "#src/channels/approvalView.ts";
import { area, button, errorAt, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { answersSection, changesSection, letterSection } from "../../approvalPages/draftSections.ts";
import type { Visit } from "../framework/visit.ts";
import { type Place, reviewPath } from "./place.ts";

/** What a person wrote, as the form has it. */
export type Written = { text: string; html: string };

export type EditOptions = {
  place: Place;
  /** As typed before a press that did nothing; absent: as the draft has it. */
  written?: Written | undefined;
  /** Why a press did nothing; `field`: what it is about. `isChanged`: somebody else changed the draft meanwhile, so that there are two texts. */
  notDone?: { sentence: string; field?: string | undefined; isChanged: boolean } | undefined;
};

/** The draft's own words to edit, with what they answer beside them. Works without script. */
export function editMain(visit: Visit, view: CardedView, { place, written, notDone }: EditOptions): Markup {
  const { card, content, version, draftId } = view;
  const text = written?.text ?? content.body_text;
  const bodyHtml = written?.html ?? content.body_html ?? "";
  const refused = notDone && { message: notDone.sentence, field: notDone.field };
  return html`<h1>Edit “<bdi lang="">${shortLine(card.threadSubject, 100) || "(no subject)"}</bdi>”</h1>
<p><a class="press" href="${reviewPath({ ...place, draft: draftId })}">Back without a change</a></p>
${notDone && html`<div class="card alert" role="alert"><p><strong>Nothing was saved.</strong> ${notDone.sentence}</p></div>`}
${notDone?.isChanged && html`${card.changes && changesSection(card.changes)}${letterSection(card.letter, `Version ${version}, as somebody else left it`)}`}
<div class="sides"><section aria-labelledby="edit-title"><h2 id="edit-title">${notDone?.isChanged ? "Your text" : "What would be sent"}</h2>
${form(
  visit,
  { action: `/review/${draftId}/edit` },
  html`<input type="hidden" name="version" value="${version}">${place.identity !== undefined && html`<input type="hidden" name="identity" value="${place.identity}">`}`,
  area({
    name: "text",
    label: "Text",
    value: text,
    rows: 14,
    required: true,
    error: errorAt(refused, "body_text"),
    hint: content.body_html === null ? undefined : "The HTML version is made again from it, unless you edit that one.",
  }),
  html`<details${notDone?.field === "body_html" && html` open`}><summary>HTML</summary>${area({
    name: "html",
    label: "HTML",
    value: bodyHtml,
    rows: 10,
    error: errorAt(refused, "body_html"),
    hint: "If you change this and leave the text alone, the text is made from it.",
  })}</details>`,
  content.signature_text !== null &&
    content.signature_text !== "" &&
    html`<p class="meta">The signature is added below it.</p>`,
  html`<div class="buttons">${button(`Save, ${approveLabel(view).toLowerCase()}`, { kind: "approve", name: "act", value: "approve" })}${button("Save only", { name: "act", value: "save" })}</div>`,
)}
<p class="meta">It becomes version ${version + 1}, under your name.${view.approvals && " Approvals already given no longer count: everybody is asked again."}</p></section>
<div>${answersSection(card)}</div></div>`;
}

/** What the route is to change: of two bodies that were shown the edited ones. What comes from a form has the line breaks of forms. */
export function changesOf(
  written: Written,
  shown: ApprovalView["content"],
): { body_text?: string; body_html?: string } {
  const text = plainLines(written.text);
  const bodyHtml = plainLines(written.html);
  const hasNewText = text !== plainLines(shown.body_text);
  const hasNewHtml = bodyHtml !== plainLines(shown.body_html ?? "");
  return { ...(hasNewText && { body_text: text }), ...(hasNewHtml && { body_html: bodyHtml }) };
}

const plainLines = (text: string): string => text.replace(/\r\n?/g, "\n");
