import type { WaitingDraft } from "#projections/drafts/queries.ts";
import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { warningMarks } from "../drafts/warningMarks.ts";
import { duration } from "./duration.ts";
import { queueChoiceOf, type ReviewQuery, reviewPath, sheetPath } from "./reviewQuery.ts";

export type ListedQueue = {
  drafts: readonly WaitingDraft[];
  /** Drafts in the whole queue, under the current filter. */
  total: number;
  /** Drafts of the queue before the listed ones. */
  from: number;
  identities: readonly { id: string; name: string; address: string; count: number }[];
};

type QueueView = {
  queue: ListedQueue;
  place: ReviewQuery;
  /** Id of the draft shown next to the list. */
  current: string | undefined;
  now: Date;
  userId: string;
  /** The URL that refreshes the list. */
  refresh: string;
};

/** The list next to the draft. It refreshes itself when a draft changes, and never replaces the draft that is shown. */
export const queueSection = (
  shown: QueueView,
): Markup => html`<section id="queue" class="queue" aria-labelledby="queue-title"
 hx-get="${shown.refresh}" hx-trigger="live:drafts from:body, live:threads from:body" hx-select="#queue" hx-target="this" hx-swap="outerHTML" hx-select-oob="#decided,#handed-over,#${shown.current === undefined ? "chosen" : "standing"}">
<h2 id="queue-title" data-announce>${titleOf(shown.queue.total)}</h2>
${shown.queue.total > 1 && html`<p class="meta"><a class="press" href="${sheetPath(shown.place)}">Review several on one sheet</a></p>`}
${shown.queue.drafts.length > 0 && html`<ol class="waiting">${shown.queue.drafts.map((draft) => item(draft, shown))}</ol>`}
${pages(shown)}
</section>`;

const titleOf = (total: number): string =>
  total === 0 ? "No drafts to review" : `${counted(total, "draft")} to review`;

function item(draft: WaitingDraft, { place, current, now, userId }: QueueView): Markup {
  const path = reviewPath({ ...queueChoiceOf(place), draft: draft.id, from: place.from });
  const customer = draft.customer_name || draft.customer_address || "Nobody yet";
  const words = shortLine(draft.first_words ?? "", 140);
  return html`<li><a id="waits-${draft.id}" href="${path}"${draft.id === current && html` aria-current="true"`}>
<span class="top"><bdi class="customer" lang="">${shortLine(customer, 60)}</bdi> <span class="age">${waited(now.getTime() - draft.pending_since.getTime())}</span></span>
<span class="subject"><bdi lang="">${shortLine(draft.thread_subject, 120) || "(no subject)"}</bdi></span>
${words !== "" && html`<span class="words" lang="" dir="auto">${words}</span>`}
<span class="meta">${marks(draft, { now, userId })}</span>
${warningMarks(draft.warnings)}</a></li>`;
}

/** Waiting time in words: "just now" or "12 minutes". */
const waited = (ms: number): string => (ms < 60_000 ? "just now" : duration(ms));

function marks(draft: WaitingDraft, { now, userId }: { now: Date; userId: string }): Markup {
  const { priority, escalates_at: escalates, approvals_given: given, assignee } = draft;
  const left = escalates === null ? undefined : escalates.getTime() - now.getTime();
  const required = draft.approvals_required_now;
  const isMine = given.some(({ by }) => by.kind === "session" && by.id === userId);
  return html`${priority !== "normal" && html`<strong class="mark">${priority}</strong> `}${draft.is_expired && html`<strong class="mark">requests expired</strong> `}<bdi>${shortLine(draft.identity_name || draft.identity_address, 60)}</bdi>${
    left !== undefined &&
    (left > 0 ? `, another approver is asked in ${duration(left)}` : ", another approver is asked now")
  }${required > 1 && `, ${Math.min(given.length, required)} of ${required} approvals`}${isMine && ", one of them yours"}${assignee !== null && html`, ${assignee.user_id === userId ? "yours" : html`with <bdi>${shortLine(assignee.name, 60)}</bdi>`}`}`;
}

function pages({ queue, place }: QueueView): Markup | false {
  const beyond = queue.total - queue.from - queue.drafts.length;
  if (beyond <= 0 && queue.from === 0) return false;
  const choice = queueChoiceOf(place);
  return html`<p class="meta">${queue.from > 0 && html`<a class="press" href="${reviewPath(choice)}">The most urgent ones</a> `}${
    beyond > 0 &&
    html`<a class="press" href="${reviewPath({ ...choice, from: queue.from + queue.drafts.length })}">The next ones</a> (${beyond} more)`
  }</p>`;
}
