import { warningWords } from "#src/channels/warningWords.ts";
import { blankSlate } from "#src/html/blankSlate.ts";
import { button, choice, errorAt, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { listedWarnings } from "#streams/draft/warnings.ts";
import type { WireDraft } from "../../present/drafts.ts";
import type { PageRefusal } from "../framework/pageContext.ts";
import { titleOf } from "./lifePage.ts";
import type { HistoryReader } from "./phraseMarkup.ts";
import { statusWords } from "./statusWords.ts";
import { warningMarks } from "./warningMarks.ts";

export type Drafts = {
  data: readonly WireDraft[];
  total: number;
  next_cursor: string | null;
  identities: readonly { id: string; email_address: string }[];
};

/** Filters in the page's URL. */
export type Filter = {
  status: string | null;
  identity_id: string | null;
  thread_id: string | null;
  warning_kind: string | null;
};

/** The list of matching drafts, newest first. */
export function listPage(
  reader: HistoryReader,
  { drafts, filter, refused }: { drafts: Drafts; filter: Filter; refused: PageRefusal | undefined },
): Markup {
  const { data, total, next_cursor: nextCursor } = drafts;
  return html`<h1>Drafts</h1>
${withErrorSummary(refused, filterForm(drafts, filter, refused))}
<div id="drafts" hx-get="/drafts${pathQuery({ ...filter })}" hx-trigger="live:drafts from:body" hx-select="#drafts" hx-target="#drafts" hx-swap="outerHTML">
<p class="meta">${total === 1 ? "1 draft" : `${total} drafts`}${filter.thread_id !== null && html` of <a href="/threads/${encodeURIComponent(filter.thread_id)}">one conversation</a>`}, the newest first.</p>
${data.length > 0 ? table(reader, drafts) : nothing(filter)}
${nextCursor !== null && html`<p><a class="press" rel="next" href="/drafts${pathQuery({ ...filter, cursor: nextCursor })}">Older drafts</a></p>`}
</div>`;
}

/** Value of a filter in the form that is not set. */
export const any = "any";

const filterForm = (
  { identities }: Drafts,
  { status, identity_id, thread_id, warning_kind }: Filter,
  refused: PageRefusal | undefined,
): Markup => html`<form method="get" action="/drafts" class="filters" aria-label="Which drafts">
${choice({
  name: "status",
  label: "Status",
  required: true,
  error: errorAt(refused, "status"),
  value: status ?? any,
  choices: [{ value: any, label: "Any" }, ...Object.entries(statusWords).map(([value, label]) => ({ value, label }))],
})}
${choice({
  name: "identity_id",
  label: "Identity",
  required: true,
  error: errorAt(refused, "identity_id"),
  value: identity_id ?? any,
  choices: [
    { value: any, label: "Any" },
    ...identities.map(({ id, email_address }) => ({ value: id, label: shortLine(email_address, 100) })),
  ],
})}
${choice({
  name: "warning_kind",
  label: "Warning",
  required: true,
  error: errorAt(refused, "warning_kind"),
  value: warning_kind ?? any,
  choices: [{ value: any, label: "Any" }, ...listedWarnings.map((value) => ({ value, label: warningWords[value] }))],
})}
${thread_id !== null && html`<input type="hidden" name="thread_id" value="${thread_id}">`}
${button("Show")}</form>`;

const nothing = (filter: Filter): Markup =>
  Object.values(filter).every((value) => value === null)
    ? blankSlate("No drafts yet", {
        text: "An agent writes a draft about a message with POST /v1/drafts or over MCP. It appears here and waits for a decision.",
        action: { path: "/docs#ten-minutes-to-your-first-reply", label: "How an agent writes a draft" },
      })
    : blankSlate("No draft matches", {
        text: "Choose another status, identity or warning.",
        action: { path: "/drafts", label: "Show all drafts" },
      });

function table(reader: HistoryReader, { data, identities }: Drafts): Markup {
  const addresses = new Map(identities.map(({ id, email_address }) => [id, email_address]));
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Drafts"><table class="drafts"><thead><tr><th scope="col">Subject</th><th scope="col">Status</th><th scope="col">Warnings</th><th scope="col">To</th><th scope="col">Identity</th><th scope="col">Submitted</th></tr></thead>
<tbody>${data.map(
    (draft) => html`<tr><th scope="row"><a href="/drafts/${draft.id}"><bdi lang="">${titleOf(draft)}</bdi></a></th>
<td><span class="status ${draft.status}">${statusWords[draft.status]}</span></td>
<td>${warningMarks(draft.warning_kinds)}</td>
<td><bdi lang="">${shortLine(draft.to.join(", "), 100)}</bdi></td>
<td><bdi lang="">${shortLine(addresses.get(draft.identity_id) ?? "deleted", 100)}</bdi></td>
<td>${when(reader, draft.created_at)}</td></tr>`,
  )}</tbody></table></div>`;
}

function pathQuery(values: Record<string, string | null>): string {
  const given = Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== null);
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
}
