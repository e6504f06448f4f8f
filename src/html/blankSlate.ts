import { html, type Markup, type MarkupValue } from "./html.ts";

/** Shown in place of a list without entries: what is missing, why, and the next step. */
export const blankSlate = (
  title: string,
  { text, action }: { text: MarkupValue; action?: { path: string; label: string } | false | undefined },
): Markup => html`<div class="card blank-slate"><h2>${title}</h2><p>${text}</p>${action && html`<p><a class="button" href="${action.path}">${action.label}</a></p>`}</div>
`;
