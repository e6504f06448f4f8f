import { button, errorAt, errorSummary, field, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import type { Answers } from "../../routes.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { pauseIn, pauseSwitch } from "../review/pause.ts";

export type ShownWorkspace = Answers["GET /v1/workspaces/me"];

export const workspacePage = (
  visit: PageContext,
  workspace: ShownWorkspace,
  { refused, name }: { refused: PageRefusal | undefined; name: string },
): Markup => {
  const mayChange = visit.may("write:workspace");
  return html`<h1>Workspace</h1>
${errorSummary(refused)}
<section>
<h2>Name</h2>
${
  mayChange
    ? form(
        visit,
        { action: "/settings/workspace" },
        field({
          name: "name",
          label: "Name",
          value: name,
          error: errorAt(refused, "name"),
          required: true,
          maxlength: 255,
          autocomplete: "off",
        }),
        button("Save the name"),
      )
    : html`<p><bdi>${workspace.name}</bdi></p>`
}
<dl><dt>Created</dt><dd>${when(visit, workspace.created_at)}</dd><dt>Its id in the API</dt><dd><code>${workspace.id}</code></dd></dl>
</section>
${approvalSection(visit, workspace)}
${pauseSwitch(visit, pauseIn(workspace), "/settings/workspace")}`;
};

function approvalSection(
  visit: PageContext,
  { require_human_approval: isRequired, require_named_approvers: isNamed }: ShownWorkspace,
): Markup {
  return html`<section>
<h2>Who has to approve</h2>
<p>${
    isRequired
      ? "Every reply of every identity needs a person’s approval. No API key, rule or setting can approve in their place."
      : "Each identity's own setting decides whether a person has to approve. If none has to, API keys and rules may approve too."
  }</p>
${
  visit.may("write:workspace") &&
  html`<p><a class="press" href="/settings/workspace/${isRequired ? "waive" : "require"}-approval">${
    isRequired ? "Let each identity decide" : "Require approval by a person for every reply"
  }</a></p>`
}
<p>${
    isNamed
      ? "Links in approval mails and chats lead to the sign-in, so every decision by link is a member's."
      : "Whoever has an approval mail can decide by its links, without signing in."
  }</p>
${
  visit.may("write:workspace") &&
  html`<p><a class="press" href="/settings/workspace/${isNamed ? "waive" : "require"}-sign-in">${
    isNamed ? "Let links decide without a sign-in" : "Require a sign-in for decisions by link"
  }</a></p>`
}
</section>`;
}

export const requireApprovalPage = (
  visit: PageContext,
): Markup => html`<h1>Require approval by a person for every reply?</h1>
<section>
<p>Every reply of every identity will then wait until a person has approved it. Approvals by API keys, rules and identities' settings no longer count.</p>
${form(visit, { action: "/settings/workspace/require-approval" }, button("Require approval by a person", { kind: "approve" }))}
</section>
<p><a class="press" href="/settings/workspace">Cancel</a></p>`;

export const requireSignInPage = (visit: PageContext): Markup => html`<h1>Require a sign-in for decisions by link?</h1>
<section>
<p>Links in approval mails and chats will then lead to the sign-in, and only members of this workspace decide by them. Invite every approver as a member first. Buttons in chats keep deciding: a chat names who presses.</p>
${form(visit, { action: "/settings/workspace/require-sign-in" }, button("Require a sign-in", { kind: "approve" }))}
</section>
<p><a class="press" href="/settings/workspace">Cancel</a></p>`;

export const waiveSignInPage = (visit: PageContext): Markup => html`<h1>Let links decide without a sign-in?</h1>
<section>
<p>Whoever has an approval mail can then decide by its links again, and the history names the mailbox instead of a member.</p>
${form(visit, { action: "/settings/workspace/waive-sign-in" }, button("Let links decide", { kind: "danger" }))}
</section>
<p><a class="press" href="/settings/workspace">Cancel</a></p>`;

export const waivePage = (visit: PageContext): Markup => html`<h1>Let each identity decide?</h1>
<section>
<p>Identities that do not require approval by a person may then have replies approved by API keys, rules or their own settings, so mail can be sent that no person has read.</p>
${form(visit, { action: "/settings/workspace/waive-approval" }, button("Let each identity decide", { kind: "danger" }))}
</section>
<p><a class="press" href="/settings/workspace">Cancel</a></p>`;
