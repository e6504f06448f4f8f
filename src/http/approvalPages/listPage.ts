import type { ApprovalList, ListedDraft, ListedState } from "#src/channels/approvalList.ts";
import type { RecordedOutcome } from "#src/channels/approvalView.ts";
import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";

const limits = { subject: 150, recipients: 5 };

/** The drafts that one mail asked about, each linked to its page. No buttons here: each draft must be read before it is decided. */
/** `token`: of the list, so that a draft's page can lead to the next one. */
export function listPage(list: ApprovalList, token: string): string {
  const { total, waiting, drafts } = list;
  const title = titleOf(waiting);
  const decided = total - waiting;
  return page({
    title,
    main: html`<h1>${title}</h1>
<p class="soft">${decided > 0 && `${counted(decided, "other")} on this list no longer ${decided === 1 ? "waits" : "wait"}. `}Each draft has its own page, where you read it and decide. Opening this page decided nothing.</p>
<ul class="list">${drafts.map((draft) => item(draft, token))}</ul>
${pagesNav(list)}
<p class="meta">The links of this page work until ${readableTime(list.expiresAt)}.</p>`,
  });
}

function titleOf(waiting: number): string {
  if (waiting === 0) return "There are no drafts to decide";
  return `${counted(waiting, "draft")} ${waiting === 1 ? "waits" : "wait"} for your decision`;
}

function item({ subject, to, since, state }: ListedDraft, list: string): Markup {
  if (state.kind === "elsewhere" || state.kind === "broken") return html`<li class="card"><p>${said(state)}</p></li>`;
  const title = html`<bdi lang="">${shortLine(subject, limits.subject) || "(no subject)"}</bdi>`;
  // The link is relative, so that it works under any base path.
  const name =
    state.kind === "waits" ? html`<a href="../a/${state.token}?d=approve&amp;list=${list}">${title}</a>` : title;
  return html`<li class="card"><p class="subject">${name}</p>
<p class="meta">To ${recipients(to)}${since && html`<br>Since <time datetime="${since}">${readableTime(since)}</time>`}</p>
<p>${said(state)}</p></li>`;
}

function recipients(to: readonly string[]): Markup {
  const shown = to.slice(0, limits.recipients).map((address) => html`<bdi>${visibleLine(address)}</bdi>`);
  const others = to.length - shown.length;
  return html`${shown.map((address, index) => html`${index > 0 && ", "}${address}`)}${others > 0 && ` and ${others} more`}`;
}

function said(state: ListedState): Markup | string {
  switch (state.kind) {
    case "waits":
      if (state.warnings === null) return "It is long: open its page to see whether there are warnings.";
      return state.warnings === 0
        ? "Waits for your decision"
        : html`<strong>${counted(state.warnings, "warning")}</strong>`;
    case "decided":
      return outcomeLine(state.outcome);
    case "changed":
      return "This draft changed: a newer mail asks about its new version.";
    case "closed":
      return "The link to this draft was closed: a newer mail has a new one.";
    case "elsewhere":
      return "Another approver decides about this draft now.";
    case "broken":
      return "This draft cannot be shown at the moment. The error has been logged.";
  }
}

const outcomes: Record<RecordedOutcome["decision"], string> = {
  approved: "Approved",
  sending: "Approved and on its way",
  sent: "Sent",
  rejected: "Rejected",
  stale: "Not sent: a newer message arrived",
  failed: "It could not be delivered",
};

const outcomeLine = ({ decision, by, at }: RecordedOutcome): Markup =>
  html`${outcomes[decision]}${by !== null && html`, by <bdi>${shortLine(by, 100)}</bdi>`}, <time datetime="${at}">${readableTime(at)}</time>`;

function pagesNav({ page: shown, pages }: ApprovalList): Markup | false {
  if (pages === 1) return false;
  return html`<nav aria-label="Pages"><p>${shown > 1 && html`<a class="skip" href="?page=${shown - 1}" rel="prev">Previous</a> `}Page ${shown} of ${pages}${shown < pages && html` <a class="skip" href="?page=${shown + 1}" rel="next">Next</a>`}</p></nav>`;
}
