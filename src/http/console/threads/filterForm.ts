import { errorAt } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { ThreadsView } from "./threadsView.ts";
import { priorityWords, statusWords } from "./threadWords.ts";

/** Renders all filters of the list. The URL uses the API's names, so that a search can be bookmarked. */
export function filterForm({ filters, identities, refused }: ThreadsView): Markup {
  const at = (name: string) => ({ name, value: filters[name] ?? "", error: errorAt(refused, name) });
  const usesMore = Object.entries(filters).some(
    ([name, value]) => !["q", "limit"].includes(name) && value !== "" && value !== "last_message_at",
  );
  return html`<form class="search" method="get" action="/threads" role="search" aria-label="Search conversations">
${input({ ...at("q"), label: "Search", type: "search", hint: 'Words in subjects and messages. "In quotes" for a phrase, -word to exclude a word.' })}
<div class="buttons"><button class="button plain">Search</button> <a class="press" href="/threads">See all</a></div>
<details class="filters"${usesMore && html` open`}><summary>Filters and order</summary>
<div class="fields">
${input({ ...at("contact"), label: "From", hint: "Parts of the sender's name or address" })}
${select({ ...at("identity_id"), label: "Identity", choices: [["", "All"], ...identities.map(({ id, display_name, email_address }) => [id, `${shortLine(display_name, 60)} (${email_address})`] as const)] })}
${select({ ...at("status"), label: "Status", choices: [["", "All"], ...Object.entries(statusWords)] })}
${select({ ...at("priority"), label: "Priority", choices: [["", "All"], ...Object.entries(priorityWords)] })}
${select({
  ...at("needs_review"),
  label: "Review",
  choices: [
    ["", "All"],
    ["true", "Needs review"],
    ["false", "Needs no review"],
  ],
})}
${input({ ...at("from_date"), label: "Newest message from", type: "date", hint: "Days are counted in UTC" })}
${input({ ...at("to_date"), label: "Newest message until", type: "date" })}
${select({
  ...at("sort"),
  value: filters.sort || "last_message_at",
  label: "Order",
  choices: [
    ["last_message_at", "Newest message first"],
    ["priority", "Most urgent first"],
  ],
})}
</div>
<button class="button plain">Apply</button></details>
</form>`;
}

type FilterInput = { name: string; value: string; error: string | undefined; label: string; hint?: string };

const input = ({ type = "text", ...place }: FilterInput & { type?: "text" | "search" | "date" }): Markup =>
  // Invalid dates are shown again as typed; a date input would drop them.
  around(
    place,
    html`<input type="${type === "date" && place.error ? "text" : type}" id="${place.name}" name="${place.name}" value="${place.value}"${described(place)}>`,
  );

function select({ choices, ...place }: FilterInput & { choices: readonly (readonly [string, string])[] }): Markup {
  const { name, value } = place;
  const known = choices.some(([choice]) => choice === value);
  // An unknown value came from the URL: show it next to its error.
  const all = known ? choices : [...choices, [value, shortLine(value, 40)] as const];
  return around(
    place,
    html`<select id="${name}" name="${name}"${described(place)}>${all.map(([choice, label]) => html`<option value="${choice}"${choice === value && html` selected`}>${label}</option>`)}</select>`,
  );
}

const around = ({ name, label, hint, error }: FilterInput, inner: Markup): Markup =>
  html`<div class="field"><label for="${name}">${label}</label>${hint !== undefined && html`<p class="hint" id="${name}-hint">${hint}</p>`}${error !== undefined && html`<p class="error" id="${name}-error">${error}</p>`}
${inner}</div>
`;

const described = ({ name, hint, error }: FilterInput): Markup | false => {
  const ids = [...(hint === undefined ? [] : [`${name}-hint`]), ...(error === undefined ? [] : [`${name}-error`])];
  return (
    ids.length > 0 && html` aria-describedby="${ids.join(" ")}"${error !== undefined && html` aria-invalid="true"`}`
  );
};
