import type { CardedView } from "#src/channels/approvalDecisions.ts";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { approveLabel } from "#src/channels/approvalView.ts";
import { area, button, errorAt, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { answersSection, changesSection, letterSection } from "../../approvalPages/draftSections.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { type ReviewQuery, reviewPath, reviewQueryFields } from "./reviewQuery.ts";

/** The text that a person typed, as submitted. */
export type TypedBodies = { text: string; html: string };

export type EditOptions = {
  place: ReviewQuery;
  /** The draft to show after this one was decided. */
  next: string | undefined;
  /** Typed text of a submission that was not saved; absent: the draft's own. */
  written?: TypedBodies | undefined;
  /**
   * Why nothing was saved; `field`: the field it is about. `isChanged`: another person changed the draft meanwhile, so there are two texts.
   */
  notDone?: { sentence: string; field?: string | undefined; isChanged: boolean } | undefined;
};

/** The form to edit a draft's text, next to the message it answers. Works without script. */
export function editMain(
  context: PageContext,
  view: CardedView,
  { place, next, written, notDone }: EditOptions,
): Markup {
  const { card, content, version, draftId } = view;
  const text = written?.text ?? content.body_text;
  const bodyHtml = written?.html ?? content.body_html ?? "";
  const refused = notDone && { message: notDone.sentence, field: notDone.field };
  return html`<h1>Edit “<bdi lang="">${shortLine(card.threadSubject, 100) || "(no subject)"}</bdi>”</h1>
<p><a class="press" href="${reviewPath({ ...place, draft: draftId })}">Cancel</a></p>
${notDone && html`<div class="card alert" role="alert"><p><strong>Nothing was saved.</strong> ${notDone.sentence}</p></div>`}
${notDone?.isChanged && html`${card.changes && changesSection(card.changes)}${letterSection(card.letter, `Version ${version}, changed by another member`)}`}
<div class="sides"><section aria-labelledby="edit-title"><h2 id="edit-title">${notDone?.isChanged ? "Your text" : "The draft"}</h2>
${form(
  context,
  { action: `/review/${draftId}/edit` },
  html`<input type="hidden" name="version" value="${version}">${reviewQueryFields(place, next)}`,
  area({
    name: "text",
    label: "Text",
    value: text,
    rows: 14,
    required: true,
    error: errorAt(refused, "body_text"),
    hint:
      content.body_html === null
        ? undefined
        : "The HTML version is generated from this text, unless you edit the HTML.",
  }),
  html`<details${notDone?.field === "body_html" && html` open`}><summary>HTML</summary>${area({
    name: "html",
    label: "HTML",
    value: bodyHtml,
    rows: 10,
    error: errorAt(refused, "body_html"),
    hint: "If you change only the HTML, the text is generated from it.",
  })}</details>`,
  content.signature_text !== null &&
    content.signature_text !== "" &&
    html`<p class="meta">The signature is added below the text.</p>`,
  html`<div class="buttons">${button(`Save, ${approveLabel(view).toLowerCase()}`, { kind: "approve", name: "act", value: "approve" })}${button("Save only", { name: "act", value: "save" })}</div>`,
)}
<p class="meta">Saved as version ${version + 1}, in your name.${view.approvals && " Earlier approvals no longer count: all approvers are asked again."}</p></section>
<div>${answersSection(card)}</div></div>`;
}

/** The changed bodies only, with the line breaks of forms normalised. */
export function changesOf(
  written: TypedBodies,
  shown: ApprovalView["content"],
): { body_text?: string; body_html?: string } {
  const text = plainLines(written.text);
  const bodyHtml = plainLines(written.html);
  const hasNewText = text !== plainLines(shown.body_text);
  const hasNewHtml = bodyHtml !== plainLines(shown.body_html ?? "");
  return { ...(hasNewText && { body_text: text }), ...(hasNewHtml && { body_html: bodyHtml }) };
}

const plainLines = (text: string): string => text.replace(/\r\n?/g, "\n");
