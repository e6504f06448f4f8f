import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { PageContext } from "../framework/pageContext.ts";

/**
 * Other people who have the draft open. The page's script reports its reader every ten seconds and gets this part again, without the
 * title: the tab keeps the number of drafts.
 */
export const viewersPart = (
  context: PageContext,
  draftId: string,
  names: readonly string[],
): Markup => html`<form id="looking" class="looking" method="post" action="/review/${draftId}/looking"
 hx-post="/review/${draftId}/looking" hx-trigger="look" hx-target="this" hx-select="#looking" hx-swap="outerHTML ignoreTitle:true">
<input type="hidden" name="form_token" value="${context.formToken}">
<p data-announce>${names.length > 0 && html`<strong>${names.map((name, index) => html`${between(index, names.length)}<bdi>${shortLine(name, 60)}</bdi>`)}</strong> ${names.length === 1 ? "is" : "are"} looking at this too.`}</p>
</form>`;

function between(index: number, count: number): string {
  if (index === 0) return "";
  return index === count - 1 ? " and " : ", ";
}
