import type { CardedView, EditedText } from "#src/channels/approvalDecisions.ts";
import { area, field } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { shortLine } from "#src/html/visible.ts";
import { codeField } from "./codeField.ts";
import { changesSection, letterSection, warningsSection } from "./draftSections.ts";

/** `typed`: an edit that was not made, shown again with the reason (`refused`). */
export type EditFormOptions = {
  action: string;
  nonce: string;
  typed?: EditedText | undefined;
  refused?: { sentence: string; field?: keyof EditedText | undefined } | undefined;
};

/** Folded, because most drafts are approved as they are. Leads to the preview, which needs no code and stores nothing. */
export function editForm({ content }: CardedView, { action, nonce, typed, refused }: EditFormOptions): Markup {
  const errorOf = (name: keyof EditedText) => (refused?.field === name ? refused.sentence : undefined);
  return html`<details id="edit-form" class="changes"${typed !== undefined && html` open`}><summary>Edit</summary>
<form method="post" action="${action}">
<input type="hidden" name="nonce" value="${nonce}">
${field({ name: "subject", label: "Subject", value: typed?.subject ?? content.subject, required: true, error: errorOf("subject") })}
${area({
  name: "text",
  label: "Text",
  value: typed?.text ?? content.body_text,
  rows: 12,
  required: true,
  error: errorOf("text"),
  hint: content.body_html === null ? undefined : "The HTML version is generated from this text.",
})}
${content.signature_text !== null && content.signature_text !== "" && html`<p class="meta">The signature is added below the text.</p>`}
<button class="changes" name="act" value="preview">Check the edit</button>
</form></details>`;
}

/** `notice`: why the last press did not count. */
export type EditPreviewOptions = {
  action: string;
  nonce: string;
  typed: EditedText;
  editedSha256: string;
  notice?: string | undefined;
};

/** The edited draft with its changes, and the button that approves it. Nothing is stored before that. */
export function editPreviewPage(
  { card }: CardedView,
  { action, nonce, typed, editedSha256, notice }: EditPreviewOptions,
): string {
  const label = `${card.approve} this text`;
  return page({
    title: `${notice ? "Not decided yet: " : ""}${label}? ${shortLine(card.threadSubject, 100)}`,
    main: html`<h1>${label}?</h1>
${notice && html`<div class="card alert" role="alert"><p><strong>Nothing was decided.</strong> ${notice}</p></div>`}
<p class="soft">Your edit is not saved yet. Approving saves it as version ${card.version}, in your name.${card.approvals && " Earlier approvals no longer count: the other approvers are asked again."}</p>
<p><a class="skip" href="#decision">Go to the decision</a></p>
${warningsSection(card)}
${card.changes && changesSection(card.changes)}
${letterSection(card.letter, `The edited ${card.noun}`)}
<section aria-labelledby="decision" class="decision"><h2 id="decision" tabindex="-1">Your decision</h2>
<form method="post" action="${action}">
<input type="hidden" name="nonce" value="${nonce}"><input type="hidden" name="previewed" value="${editedSha256}"><input type="hidden" name="subject" value="${typed.subject}"><input type="hidden" name="text" value="${typed.text}">
${codeField("edit")}
<div class="buttons"><button class="approve first" name="act" value="send">${label}</button>
<button class="changes" name="act" value="back" formnovalidate>Edit again</button></div>
</form></section>`,
  });
}
