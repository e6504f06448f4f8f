import type { ReadDraft } from "#projections/drafts/queries.ts";
import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { type ReviewQuery, reviewQueryFields } from "./reviewQuery.ts";

/** A draft that was just decided. `undoUntil`: time (ISO) until which this person can undo their approval; null if they cannot. */
export type DecidedDraft = {
  row: Pick<
    ReadDraft,
    "id" | "status" | "held_code" | "approvals_given" | "approvals_required_now" | "decided_by" | "changes_requested"
  >;
  subject: string;
  to: readonly string[];
  undoUntil: string | null;
  now: Date;
};

/** Describes the decision by the draft's current state, so that it stays true when the page is reloaded. */
export function decidedNotice(context: PageContext, decided: DecidedDraft | undefined, place: ReviewQuery): Markup {
  if (!decided) return html`<div id="decided"></div>`;
  const { row, undoUntil, now } = decided;
  return html`<div id="decided" class="notice"><p data-announce>${sentence(context, decided)} <a href="/drafts/${row.id}">See its history</a></p>
${
  undoUntil !== null &&
  html`<div data-until="${undoUntil}" data-seconds="${secondsTo(undoUntil, now)}">${form(
    context,
    { action: `/review/${row.id}/undo`, className: "inline" },
    reviewQueryFields(place),
    button("Undo", { id: "undo" }),
  )} <span class="meta">within <span data-left>${secondsTo(undoUntil, now)}</span> seconds</span></div>`
}${row.status === "pending" && isMine(context, row) && form(context, { action: `/review/${row.id}/undo`, className: "inline" }, button("Undo", { id: "undo" }))}${
  isOwnRequest(context, row) &&
  form(
    context,
    { action: `/review/${row.id}/withdraw-changes-request`, className: "inline" },
    button("Withdraw the request", { id: "undo" }),
  )
}</div>`;
}

const isOwnRequest = (context: PageContext, { status, changes_requested: request }: DecidedDraft["row"]): boolean =>
  status === "pending" &&
  request?.state === "open" &&
  request.by.kind === "session" &&
  request.by.id === context.principal.user.id;

const secondsTo = (iso: string, now: Date): number => Math.max(0, Math.ceil((Date.parse(iso) - now.getTime()) / 1000));

const isMine = (context: PageContext, { approvals_given: given }: DecidedDraft["row"]): boolean =>
  given.some(({ by }) => by.kind === "session" && by.id === context.principal.user.id);

function sentence(context: PageContext, decided: DecidedDraft): Markup {
  const { row } = decided;
  const what = html`<bdi lang="">${shortLine(decided.subject, 100) || "(no subject)"}</bdi>`;
  const who = whoOf(context, row);
  switch (row.status) {
    case "approved":
      return approvedSentence(decided, who, what);
    case "sending":
      return html`${who} approved ${what}. It is on its way to ${recipients(decided.to)}.`;
    case "sent":
      return html`${who} approved ${what}. It was sent to ${recipients(decided.to)}.`;
    case "rejected":
      return html`${who} rejected ${what}. The agent is notified.`;
    case "stale":
      return html`${what} was not sent: a newer message arrived. The agent is notified, and can write a new draft.`;
    case "failed":
      return html`${what} could not be delivered.`;
    default:
      if (row.changes_requested?.state === "open")
        return html`The agent is asked for changes to ${what}. Its next version will be here.`;
      return isMine(context, row)
        ? html`Your approval of ${what} counts: ${row.approvals_given.length} of ${row.approvals_required_now} approvals given.`
        : html`${what} waits for a decision again.`;
  }
}

function approvedSentence({ row, to, undoUntil }: DecidedDraft, who: Markup, what: Markup): Markup {
  if (row.held_code === "sending_paused") return html`${who} approved ${what}. It waits until sending is resumed.`;
  if (row.held_code !== null) return html`${who} approved ${what}. It cannot be sent now, so it waits.`;
  return undoUntil !== null
    ? html`${who} approved ${what}. It will be sent to ${recipients(to)} in a few seconds.`
    : html`${who} approved ${what}.`;
}

function whoOf(context: PageContext, { decided_by: by }: DecidedDraft["row"]): Markup {
  if (by?.kind === "session" && by.id === context.principal.user.id) return html`You`;
  return html`<bdi>${shortLine(by?.name ?? by?.id ?? "Nobody", 100)}</bdi>`;
}

const recipients = (to: readonly string[]): Markup =>
  html`${to.slice(0, 3).map((address, index) => html`${index > 0 && ", "}<bdi>${shortLine(address, 100)}</bdi>`)}${to.length > 3 && ` and ${to.length - 3} more`}`;
