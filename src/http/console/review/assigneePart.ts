import { button, choice, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { reviewQueryFields } from "./reviewQuery.ts";
import type { SelectedDraft, SelectedDraftOptions } from "./selectedDraft.ts";

/** Which member takes care of the draft, and the forms to take it, hand it over or release it. */
export function assigneePart(context: PageContext, chosen: SelectedDraft, { place }: SelectedDraftOptions): Markup {
  const { assignee, assignees, view } = chosen;
  const own = context.principal.user.id;
  const assign = (label: string, userId: string, className = "inline") =>
    form(
      context,
      { action: `/review/${view.draftId}/assign`, className },
      reviewQueryFields(place),
      html`<input type="hidden" name="user_id" value="${userId}">`,
      button(label, { kind: "quiet" }),
    );
  const others = assignees.filter(({ user_id: id }) => id !== own && id !== assignee?.user_id);
  return html`<div class="small" id="assignee"><p>${who(assignee, own)} <span class="meta">This restricts nobody: everyone who may decide still can.</span></p>
${
  context.may("decide:drafts") &&
  html`${assignee?.user_id !== own && assign("Take", own)} ${assignee !== null && assign("Release", "")}
${
  others.length > 0 &&
  html`<details><summary>Hand over to…</summary>${form(
    context,
    { action: `/review/${view.draftId}/assign` },
    reviewQueryFields(place),
    choice({
      name: "user_id",
      id: "hand-over-to",
      label: "Member",
      required: true,
      choices: others.map(({ user_id: value, name }) => ({ value, label: shortLine(name, 100) })),
    }),
    button("Hand over"),
  )}</details>`
}`
}</div>`;
}

function who(assignee: SelectedDraft["assignee"], own: string): Markup {
  if (assignee === null) return html`Nobody has taken this draft.`;
  return assignee.user_id === own
    ? html`You have taken this draft.`
    : html`<bdi>${shortLine(assignee.name, 100)}</bdi> has taken this draft.`;
}
