import { actorInWords } from "#src/commands/drafts/life/people.ts";
import { blankSlate } from "#src/html/blankSlate.ts";
import { counted } from "#src/html/counted.ts";
import { button, errorAt, field, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { Answers, ListItem } from "../../routes.ts";
import { titleOf } from "../drafts/lifePage.ts";
import { phraseMarkup } from "../drafts/phraseMarkup.ts";
import { statusWords } from "../drafts/statusWords.ts";
import { actorOf } from "../drafts/wire.ts";
import type { PageRefusal } from "../framework/pageContext.ts";
import { type PageLinks, pages } from "../framework/pageLinks.ts";
import { dayField } from "./dayField.ts";

type FoundDraft = ListItem<"GET /v1/drafts">;

/** Names of the form's fields, which are filters of GET /v1/drafts. */
export const filterNames = ["person", "q", "from_date", "to_date"] as const;

export type Filters = Partial<Record<(typeof filterNames)[number], string>>;

/** `found`: undefined if a filter was refused. */
export type FindView = {
  filters: Filters;
  found: Pick<Answers["GET /v1/drafts"], "data" | "total"> | undefined;
  refused: PageRefusal | undefined;
  links: PageLinks;
};

/** The first page of auditors: finds drafts, each of which leads to its history. */
export const findPage = (reader: { zone: string }, view: FindView): Markup => html`<h1>Audit</h1>
<p>Find a draft to see who decided what about it, what was sent, and to download what proves it. <a href="/audit/heads">Signed heads</a> · <a href="/audit/export">Export proven events</a> · <a href="/docs/prove">How a history is proved</a></p>
${withErrorSummary(view.refused, filterForm(view))}
${view.found && foundSection(reader, view, view.found)}`;

const filterForm = ({ filters, refused }: FindView): Markup =>
  html`<form method="get" action="/audit" class="filters" role="search" aria-label="Which drafts">
${field({
  ...{ name: "person", label: "Person or address", value: filters.person, error: errorAt(refused, "person") },
  hint: "Who decided, wrote or was written to",
})}
${field({
  ...{ name: "q", label: "Subject or words", type: "search", value: filters.q, error: errorAt(refused, "q") },
  hint: "“In quotes” for a phrase",
})}
${dayField({ name: "from_date", label: "Submitted from", value: filters.from_date, error: errorAt(refused, "from_date") })}
${dayField({ name: "to_date", label: "Until", value: filters.to_date, error: errorAt(refused, "to_date") })}
<div class="buttons">${button("Find")}<a class="press" href="/audit">Show all</a></div></form>`;

const foundSection = (
  reader: { zone: string },
  { filters, links }: FindView,
  { data, total }: NonNullable<FindView["found"]>,
): Markup => html`<section class="plain" aria-labelledby="found"><h2 id="found">${counted(total, "draft")}, the newest first</h2>
${data.length === 0 ? nothing(filters, links) : table(reader, data)}
${pages(links, "drafts")}</section>`;

const nothing = (filters: Filters, { newest }: PageLinks): Markup =>
  Object.keys(filters).length === 0 && newest === null
    ? blankSlate("No drafts yet", {
        text: "Every draft that an agent or a person writes here will be listed, with its whole history from the first version on.",
        action: { path: "/audit/heads", label: "Signed heads" },
      })
    : blankSlate("No draft matches", {
        text: "Use fewer words, or a longer time.",
        action: { path: "/audit", label: "Show all drafts" },
      });

const table = (reader: { zone: string }, data: readonly FoundDraft[]): Markup =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="Drafts"><table class="drafts"><thead><tr><th scope="col">Subject</th><th scope="col">Submitted</th><th scope="col">To</th><th scope="col">Status</th><th scope="col">Decision</th></tr></thead>
<tbody>${data.map(
    (draft) => html`<tr><th scope="row"><a href="/drafts/${draft.id}"><bdi lang="">${titleOf(draft)}</bdi></a></th>
<td>${when(reader, draft.created_at)}</td>
<td><bdi lang="">${shortLine(draft.to.join(", "), 100)}</bdi></td>
<td><span class="status ${draft.status}">${statusWords[draft.status]}</span></td>
<td>${decisionOf(reader, draft)}</td></tr>`,
  )}</tbody></table></div>`;

/** Names the people who decided about the current version. */
function decisionOf(reader: { zone: string }, { decided_by: by, approvals }: FoundDraft): Markup | string {
  const people = approvals.given.map((each) => phraseMarkup(reader, actorInWords(actorOf(each.by))));
  if (by?.decision === "reject") return html`rejected by ${phraseMarkup(reader, actorInWords(actorOf(by)))}`;
  if (by !== null && people.length <= 1) return html`approved by ${phraseMarkup(reader, actorInWords(actorOf(by)))}`;
  if (people.length === 0) return "no decision";
  return html`${by === null && `${people.length} of ${approvals.required}: `}approved by ${people.map((one, index) => html`${index > 0 && "; "}${one}`)}`;
}
