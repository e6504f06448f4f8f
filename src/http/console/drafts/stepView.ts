import { actorInWords } from "#src/commands/drafts/life/people.ts";
import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { whenExactly } from "#src/html/times.ts";
import { changesView, writing } from "./letterView.ts";
import { type HistoryReader, phraseMarkup } from "./phraseMarkup.ts";
import type { Fact } from "./stepParts.ts";
import type { Step } from "./steps.ts";

/** The path of a step's own page. */
export const stepPath = (draftId: string, n: number): string => `/drafts/${draftId}/at/${n}`;

/** A step as an item of the list. `opened`: unfolded, for printing. */
export const stepItem = (
  reader: HistoryReader,
  step: Step,
  { draftId, opened = false }: { draftId: string; opened?: boolean },
): Markup =>
  html`<li id="step-${step.n}" class="step">
<p class="meta"><a href="${stepPath(draftId, step.n)}">Step ${step.n}</a> · ${whenExactly(reader, step.event.at)} · by ${phraseMarkup(reader, actorInWords(step.event.actor))}</p>
<h3>${phraseMarkup(reader, step.what)}</h3>
${stepBody(reader, step, { draftId, opened })}
</li>`;

/** The details of a step, without its heading. */
export const stepBody = (
  reader: HistoryReader,
  step: Step,
  { draftId, opened }: { draftId: string; opened: boolean },
): Markup => html`${factsView(reader, step.facts)}
${step.texts.map(({ label, text }) => html`<p class="label">${label}</p>${writing(text)}`)}
${step.replaced !== null && replacedView(draftId, step, step.replaced)}
${folded("Details", factsView(reader, recordOf(step)), opened)}`;

/** The changes of a step; if they are too long, links to the two versions. */
const replacedView = (draftId: string, { n, version }: Step, replaced: NonNullable<Step["replaced"]>): Markup =>
  html`${replaced.changes !== null && changesView(replaced.changes, replaced.version.version)}
${replaced.changes?.truncated && html`<p>Not all changes are shown here. Read <a href="${stepPath(draftId, replaced.n)}">version ${replaced.version.version}</a> and <a href="${stepPath(draftId, n)}">version ${version.version}</a>.</p>`}`;

export const folded = (summary: string, content: MarkupValue, opened: boolean): Markup =>
  html`<details${opened && html` open`}><summary>${summary}</summary>${content}</details>`;

const factsView = (reader: HistoryReader, facts: readonly Fact[]): Markup | false =>
  facts.length > 0 &&
  html`<dl>${facts.map(({ label, value }) => html`<dt>${label}</dt><dd>${phraseMarkup({ ...reader, exactly: true }, value)}</dd>`)}</dl>`;

/** The actor of a step, as recorded. */
function recordOf({ event }: Step): Fact[] {
  const { kind, id, name, email, channel, ip, userAgent, requestId } = event.actor;
  const given = { Kind: kind, Id: id, Name: name, Address: email, Channel: channel, "IP address": ip };
  const all = { ...given, "User agent": userAgent, Request: requestId, Event: event.type };
  const facts = Object.entries(all).flatMap(([label, exact]) =>
    exact === undefined ? [] : [{ label, value: [{ exact }] }],
  );
  return [...facts, { label: "Log position", value: [String(event.position)] }];
}
