import type { WaitingDraft } from "#projections/drafts/queries.ts";
import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { type ReviewQuery, reviewPath } from "./place.ts";
import { duration } from "./words.ts";

export type Queue = {
  drafts: readonly WaitingDraft[];
  /** Drafts in the whole queue, under the current filter. */
  total: number;
  identities: readonly { id: string; name: string; address: string; count: number }[];
};

type QueueView = {
  queue: Queue;
  place: ReviewQuery;
  /** Id of the draft shown next to the list. */
  current: string | undefined;
  now: Date;
  userId: string;
  /** The URL that refreshes the list. */
  refresh: string;
};

/** The list next to the draft. It refreshes itself when a draft changes. */
export const queueSection = (
  shown: QueueView,
): Markup => html`<section id="queue" class="queue" aria-labelledby="queue-title"
 hx-get="${shown.refresh}" hx-trigger="live:drafts from:body, live:threads from:body" hx-select="#queue" hx-target="this" hx-swap="outerHTML" hx-select-oob="#decided,#${shown.current === undefined ? "chosen" : "standing"}">
<h2 id="queue-title" data-announce>${titleOf(shown.queue.total)}</h2>
${filter(shown)}
${shown.queue.drafts.length > 0 && html`<ol class="waiting">${shown.queue.drafts.map((draft) => item(draft, shown))}</ol>`}
${pages(shown)}
</section>`;

const titleOf = (total: number): string =>
  total === 0 ? "No drafts to review" : `${counted(total, "draft")} to review`;

function filter({ queue, place }: QueueView): Markup | false {
  const { identities } = queue;
  if (place.identity === undefined && identities.length < 2) return false;
  const all = identities.reduce((sum, { count }) => sum + count, 0);
  const link = (identity: string | undefined, name: string, count: number) =>
    html`<li><a href="${reviewPath({ identity })}"${place.identity === identity && html` aria-current="true"`}><bdi>${shortLine(name, 60)}</bdi> <span class="count">${count}</span></a></li>`;
  return html`<ul class="filter" aria-label="Whose drafts">${link(undefined, "All identities", all)}${identities.map(({ id, name, address, count }) => link(id, name || address, count))}</ul>`;
}

function item(draft: WaitingDraft, { place, current, now, userId }: QueueView): Markup {
  const { identity, from } = place;
  const path = reviewPath({ draft: draft.id, identity, from });
  return html`<li><a id="waits-${draft.id}" href="${path}"${draft.id === current && html` aria-current="true"`}>
<span class="subject"><bdi lang="">${shortLine(draft.thread_subject, 120) || "(no subject)"}</bdi></span>
<span class="meta"><bdi>${shortLine(draft.identity_name || draft.identity_address, 60)}</bdi> · ${marks(draft, { now, userId })}</span></a></li>`;
}

/** Waiting time in words: "just now" or "waits for 12 minutes". */
const waited = (ms: number): string => (ms < 60_000 ? "just now" : `waits for ${duration(ms)}`);

function marks(draft: WaitingDraft, { now, userId }: { now: Date; userId: string }): Markup {
  const { priority, pending_since: since, escalates_at: escalates, approvals_given: given } = draft;
  const left = escalates === null ? undefined : escalates.getTime() - now.getTime();
  const required = draft.approvals_required_now;
  const isMine = given.some(({ by }) => by.kind === "session" && by.id === userId);
  return html`${priority !== "normal" && html`<strong class="mark">${priority}</strong> `}${waited(now.getTime() - since.getTime())}${
    left !== undefined &&
    (left > 0 ? `, another approver is asked in ${duration(left)}` : ", another approver is asked now")
  }${required > 1 && `, ${Math.min(given.length, required)} of ${required} approvals`}${isMine && ", one of them yours"}`;
}

function pages({ queue, place }: QueueView): Markup | false {
  const { from = 0, identity } = place;
  const beyond = queue.total - from - queue.drafts.length;
  if (beyond <= 0 && from === 0) return false;
  return html`<p class="meta">${from > 0 && html`<a class="press" href="${reviewPath({ identity })}">The most urgent ones</a> `}${
    beyond > 0 &&
    html`<a class="press" href="${reviewPath({ identity, from: from + queue.drafts.length })}">The next ones</a> (${beyond} more)`
  }</p>`;
}
