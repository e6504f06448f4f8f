import type { ApprovalView, RecordedOutcome } from "#src/channels/approvalView.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { reviewPath } from "./reviewQuery.ts";

/**
 * The draft's changes since the page was loaded. Only this part refreshes itself: the mail and the person's input stay, and the person
 * decides when to reload.
 */
export const changesSinceLoaded = (context: PageContext, view: ApprovalView): Markup =>
  html`<div id="standing" class="standing">${standingSentence(context, view)}</div>`;

function standingSentence(context: PageContext, view: ApprovalView): Markup | false {
  if (view.decided !== null)
    return html`<div class="card outcome"><p data-announce>${outcome(context, view.decided)}</p></div>`;
  const shown = Number(context.query.get("shown") ?? view.version);
  const again = html`<a class="press" href="${reviewPath({ draft: view.draftId })}">Show it</a>`;
  if (shown !== view.version) {
    return html`<div class="card alert"><p data-announce>This draft changed while you were reading: version ${view.version} is now the newest. You can no longer decide about the version shown here. ${again}</p></div>`;
  }
  if (context.query.get("newer") === "no" && view.newerMessage !== null) {
    return html`<div class="card alert"><p data-announce>A newer message has arrived. This draft cannot be sent. ${again}</p></div>`;
  }
  return false;
}

const outcomes: Record<RecordedOutcome["decision"], string> = {
  approved: "Approved, and not sent yet",
  sending: "Approved and on its way",
  sent: "Approved and sent",
  rejected: "Rejected",
  stale: "Not sent: a newer message arrived",
  failed: "It could not be delivered",
};

/** A sentence on the decision: by whom and when. */
function outcome(context: PageContext, { decision, by, at, reason }: RecordedOutcome): Markup {
  const who = by !== null && decision !== "stale" && html` by <bdi>${shortLine(visibleLine(by), 100)}</bdi>`;
  return html`<strong>${outcomes[decision]}</strong>${who}, ${when(context, at)}.${reason && html` ${decision === "failed" ? "What happened" : "Reason"}: <span dir="auto" lang="">${reason}</span>`}`;
}
