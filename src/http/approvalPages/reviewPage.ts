import { type ApprovalView, approveLabel, type Decision } from "#src/channels/approvalView.ts";
import { approvalWarnings } from "#src/channels/approvalWarnings.ts";
import { letterOf } from "#src/channels/letter.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { readableTime } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import { answersSection, letterSection, newerSection, rationaleSection } from "./draftSections.ts";
import { maxReasonBytes } from "./form.ts";

/**
 * `first`: the choice whose link was followed. `notice`: why a press did not count. `reason`: as typed before it. `asksCode`: each choice asks for
 * the code of the approval mail.
 */
export type ReviewOptions = {
  first: Decision;
  nonces: Record<Decision, string>;
  asksCode?: boolean;
  notice?: string;
  reason?: string;
};

/** The whole draft and a button for each choice. */
export function reviewPage(view: ApprovalView, options: ReviewOptions): string {
  const letter = letterOf(view.content, view);
  const noun = view.answers ? "reply" : "mail";
  const question =
    options.first === "reject"
      ? `Reject this ${noun}?`
      : view.sendsOnApproval
        ? `Send this ${noun}?`
        : `Approve this ${noun}?`;
  return page({
    title: `${options.notice ? "Not decided yet: " : ""}${question} ${shortLine(view.content.subject, 100)}`,
    main: html`<h1>${question}</h1>
${options.notice && html`<div class="card alert" role="alert"><p><strong>Nothing was decided.</strong> ${options.notice}</p></div>`}
<p class="soft">An agent wrote it for <bdi>${shortLine(view.identity.displayName, 100)}</bdi> (<bdi>${visibleLine(view.identity.address)}</bdi>). Nothing is sent before you decide.</p>
<p><a class="skip" href="#decision">Go to the decision</a></p>
${warningsSection(approvalWarnings(view, letter))}
${view.newerMessage && newerSection(view.newerMessage)}
<div class="sides"><div>${letterSection(view, letter, "What would be sent")}</div>
<div>${rationaleSection(view)}${answersSection(view)}</div></div>
${decisionSection(view, options)}`,
  });
}

const warningsSection = (warnings: string[]): Markup | false =>
  warnings.length > 0 &&
  html`<section class="warnings" aria-labelledby="warnings"><h2 id="warnings">Before you decide</h2><ul>${warnings.map((warning) => html`<li>${warning}</li>`)}</ul></section>`;

function decisionSection(view: ApprovalView, options: ReviewOptions): Markup {
  const approve = approveForm(approveLabel(view), options);
  const reject = rejectForm(options);
  return html`<section aria-labelledby="decision" class="decision">
<h2 id="decision" tabindex="-1">Your decision</h2>
<div class="choices">${options.first === "approve" ? [approve, reject] : [reject, approve]}</div>
<p class="meta expiry">This page decides about version ${view.version} until ${readableTime(view.expiresAt)}.</p>
</section>`;
}

// A form without an action posts to its own page, wherever the service is mounted.
const approveForm = (label: string, { first, nonces, asksCode }: ReviewOptions): Markup => html`<form method="post">
<input type="hidden" name="nonce" value="${nonces.approve}">
${asksCode && codeField("approve")}
<button class="approve ${first === "approve" && "first"}" name="decision" value="approve">${label}</button>
</form>`;

const rejectForm = ({ first, nonces, asksCode, reason }: ReviewOptions): Markup => html`<form method="post">
<input type="hidden" name="nonce" value="${nonces.reject}">
<label for="reason">Reason <span>(optional, the agent reads it)</span></label>
<textarea id="reason" name="reason" maxlength="${maxReasonBytes}" rows="3" dir="auto">
${reason}</textarea>
${asksCode && codeField("reject")}
<button class="reject ${first === "reject" && "first"}" name="decision" value="reject">Reject</button>
</form>`;

const codeField = (
  decision: Decision,
): Markup => html`<label for="code-${decision}">Code <span>(the four digits in the approval mail)</span></label>
<input class="code" id="code-${decision}" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required>
`;
