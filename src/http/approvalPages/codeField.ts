import type { ApproverChoice } from "#src/channels/approvalView.ts";
import { html, type Markup } from "#src/html/html.ts";

const purposes: Record<ApproverChoice | "edit", string> = {
  approve: "approve",
  reject: "reject",
  request_changes: "ask for changes",
  edit: "approve your edit",
};

/** The field for the code of the approval mail. */
export const codeField = (
  choice: ApproverChoice | "edit",
): Markup => html`<label for="code-${choice}">Code <span>(the four digits in the approval mail)</span><span class="unseen"> to ${purposes[choice]}</span></label>
<input class="code" id="code-${choice}" name="code" inputmode="numeric" autocomplete="one-time-code" maxlength="12" required>
`;
