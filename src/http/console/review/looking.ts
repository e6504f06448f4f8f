import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { Visit } from "../framework/visit.ts";

/** Who else has the draft open. The script of the page tells every ten seconds that this person is there, and gets this part again. */
export const lookingPart = (
  visit: Visit,
  draftId: string,
  names: readonly string[],
): Markup => html`<form id="looking" class="looking" method="post" action="/review/${draftId}/looking"
 hx-post="/review/${draftId}/looking" hx-trigger="look" hx-target="this" hx-select="#looking" hx-swap="outerHTML">
<input type="hidden" name="form_token" value="${visit.formToken}">
<p data-announce>${names.length > 0 && html`<strong>${names.map((name, index) => html`${between(index, names.length)}<bdi>${shortLine(name, 60)}</bdi>`)}</strong> ${names.length === 1 ? "is" : "are"} looking at this too.`}</p>
</form>`;

function between(index: number, count: number): string {
  if (index === 0) return "";
  return index === count - 1 ? " and " : ", ";
}
