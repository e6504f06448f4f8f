import { counted } from "#src/html/counted.ts";
import { button, errorAt, field, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import type { PageRefusal } from "../framework/pageContext.ts";
import { dayField } from "./dayField.ts";

/** Names of the form's fields, which are filters of GET /v1/audit/export. */
export const scopeNames = ["thread", "contact", "from", "to"] as const;

export type ExportChoice = Partial<Record<(typeof scopeNames)[number], string>>;

/** `entries`: number of entries in the export, with a period the most; undefined until it is asked. */
export type ExportView = { scope: ExportChoice; entries: number | undefined; refused: PageRefusal | undefined };

/** Counts an export, and leads to its download. */
export const exportPage = (view: ExportView): Markup => html`<h1>Export proven events</h1>
<p class="meta"><a href="/audit">Find a draft's history</a> · <a href="/audit/heads">Signed heads</a></p>
<p>A ZIP archive of everything about a person, of a conversation, or of a period: each event with a proof that it is in the signed tree, the mails, the contents of drafts, and a program that checks all of it without this service. <a href="/docs/prove#many-drafts-or-everything-about-a-person">What is in it</a></p>
${withErrorSummary(view.refused, scopeForm(view))}
${view.entries !== undefined && readySection(view.scope, view.entries)}`;

const scopeForm = ({ scope, refused }: ExportView): Markup =>
  html`<form method="get" action="/audit/export" class="filters" aria-label="What to export">
<input type="hidden" name="count" value="1">
${
  scope.thread === undefined
    ? field({
        ...{ name: "contact", label: "Address of a person", value: scope.contact, error: errorAt(refused, "contact") },
        hint: "Without one, everybody's",
      })
    : html`<input type="hidden" name="thread" value="${scope.thread}"><p>Of <a href="/threads/${encodeURIComponent(scope.thread)}">one conversation</a></p>`
}
${dayField({ name: "from", label: "From", value: scope.from, error: errorAt(refused, "from") })}
${dayField({ name: "to", label: "Until", value: scope.to, error: errorAt(refused, "to") })}
<div class="buttons">${button("Count the events")}<a class="press" href="/audit/export">Start again</a></div></form>`;

const readySection = (scope: ExportChoice, entries: number): Markup =>
  entries === 0
    ? html`<section aria-labelledby="ready"><h2 id="ready">There is nothing to export</h2><p>No event is about this. Try another address or a longer time.</p></section>`
    : html`<section aria-labelledby="ready"><h2 id="ready">${scope.from || scope.to ? "At most " : ""}${counted(entries, "event")}</h2>
<p>The archive is made while it is downloaded, so your browser cannot know its size before. It is whole if <code>verify.mjs</code> says so.</p>
<p><a class="button" href="/audit/export/file?${String(new URLSearchParams(scope as Record<string, string>))}" download>Download the export</a></p></section>`;
