import { warningWords } from "#src/channels/warningWords.ts";
import { html, type Markup } from "#src/html/html.ts";
import { type ListedWarning, sortWarnings, warningWeights } from "#streams/draft/warnings.ts";

const mostShown = 3;

/** The most important warnings of a draft in a row of a list, in a few words each; heavy ones are marked. */
export function warningMarks(kinds: readonly ListedWarning[]): Markup | false {
  if (kinds.length === 0) return false;
  const shown = sortWarnings(kinds).slice(0, mostShown);
  const more = kinds.length - shown.length;
  return html`<span class="beware"><span class="unseen">${kinds.length === 1 ? "Warning" : "Warnings"}: </span>${shown.map(
    (kind, index) => html`${index > 0 && html`<span class="unseen">,</span> `}${mark(kind)}`,
  )}${more > 0 && ` and ${more} more`}</span>`;
}

const mark = (kind: ListedWarning): Markup =>
  warningWeights[kind] === "heavy"
    ? html`<strong class="mark">${warningWords[kind]}</strong>`
    : html`<span>${warningWords[kind]}</span>`;
