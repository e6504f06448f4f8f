import { type CardedView, maxReasonBytes } from "#src/channels/approvalDecisions.ts";
import type { ApproverChoice, ApproverDecision } from "#src/channels/approvalView.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { codeField } from "./codeField.ts";
import {
  answersSection,
  changesSection,
  letterSection,
  newerSection,
  rationaleSection,
  warningsSection,
} from "./draftSections.ts";
import { type EditFormOptions, editForm } from "./editPages.ts";
import { consolePathOf } from "./outcomePages.ts";

/**
 * `first`: the decision whose link was followed. `notice`: why a submission did not count. `reason`: as typed then. `asksCode`: each
 * decision requires the code in the approval mail.
 */
export type ReviewOptions = {
  first: ApproverDecision;
  nonces: Record<ApproverChoice, string>;
  asksCode?: boolean;
  /** Only named people of a chat may decide: the page has no buttons. */
  inChatOnly?: boolean;
  notice?: string;
  reason?: string;
  /** The form to edit the draft; absent if its holder cannot edit it here. */
  edit?: EditFormOptions | undefined;
  /** The draft can be edited in the console only. */
  editInConsole?: boolean;
};

/** The complete draft and a button for each decision. Order: the question, warnings, recipients, the text, then the buttons. */
export function reviewPage(view: CardedView, options: ReviewOptions): string {
  const { card } = view;
  const question = options.first === "reject" ? `Reject this ${card.noun}?` : card.question;
  return page({
    title: `${options.notice ? "Not decided yet: " : ""}${question} ${shortLine(card.threadSubject, 100)}`,
    main: html`<h1>${question}</h1>
${options.notice && html`<div class="card alert" role="alert"><p><strong>Nothing was decided.</strong> ${options.notice}</p></div>`}
<p class="soft">${card.lead}</p>
${card.approvals && html`<p class="soft"><strong>${card.approvals}</strong></p>`}
${card.escalation && html`<p class="soft"><strong>${card.escalation.left} left.</strong> ${card.escalation.sentence}</p>`}
<p><a class="skip" href="#decision">Go to the decision</a></p>
${warningsSection(card)}
${card.newer && newerSection(card.newer)}
${card.changes && changesSection(card.changes)}
<div class="sides"><div>${letterSection(card.letter, "The draft")}
${decisionSection(view, options)}</div>
<div>${rationaleSection(card)}${answersSection(card)}</div></div>`,
  });
}

function decisionSection(view: CardedView, options: ReviewOptions): Markup {
  const { card } = view;
  if (options.inChatOnly)
    return html`<section aria-labelledby="decision" class="decision"><h2 id="decision" tabindex="-1">Your decision</h2>
<p>Only the users listed for the chat can decide, with the buttons there. This page shows the draft.</p></section>`;
  const approve = approveForm(card.approve, options);
  const reject = rejectForm(options);
  const asking = changesForm(options);
  const editing = options.edit ? editForm(view, options.edit) : options.editInConsole === true && editLink(view);
  const changes = editing ? html`<div>${editing}${asking}</div>` : asking;
  return html`<section aria-labelledby="decision" class="decision">
<h2 id="decision" tabindex="-1">Your decision</h2>
<div class="choices">${options.first === "approve" ? [approve, changes, reject] : [reject, changes, approve]}</div>
<p class="meta expiry">You can decide until ${readableTime(card.expiresAt)} (version ${card.version}).</p>
</section>`;
}

// Without an action attribute the form posts to its own URL, under any base path.
const approveForm = (label: string, { first, nonces, asksCode }: ReviewOptions): Markup => html`<form method="post">
<input type="hidden" name="nonce" value="${nonces.approve}">
${asksCode && codeField("approve")}
<button class="approve ${first === "approve" && "first"}" name="decision" value="approve">${label}</button>
</form>`;

const rejectForm = ({ first, nonces, asksCode, reason }: ReviewOptions): Markup => html`<form method="post">
<input type="hidden" name="nonce" value="${nonces.reject}">
<label for="reason">Reason <span>(optional, the agent will see this)</span></label>
<textarea id="reason" name="reason" maxlength="${maxReasonBytes}" rows="3" dir="auto">
${reason}</textarea>
${asksCode && codeField("reject")}
<button class="reject ${first === "reject" && "first"}" name="decision" value="reject">Reject</button>
</form>`;

/** Folded, because most answers are the other two; the mail's third link opens it. */
const changesForm = ({
  nonces,
  asksCode,
  reason,
}: ReviewOptions): Markup => html`<details id="changes-form" class="changes"><summary>Ask for changes</summary>
<form method="post">
<input type="hidden" name="nonce" value="${nonces.request_changes}">
<label for="wish">What should the agent change? <span>(the agent will see this, and you are asked about its next version)</span></label>
<textarea id="wish" name="reason" maxlength="${maxReasonBytes}" rows="3" dir="auto" required>
${reason}</textarea>
${asksCode && codeField("request_changes")}
<button class="changes" name="decision" value="request_changes">Ask for changes</button>
</form></details>`;

const editLink = (view: CardedView): Markup =>
  html`<p class="meta">To change the text yourself, <a href="${consolePathOf(view)}">open the draft in the console</a>.</p>`;
