import { button, errorAt, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import type { Answers } from "../../routes.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { pauseIn, pauseSwitch } from "../review/pause.ts";

export type ShownWorkspace = Answers["GET /v1/workspaces/me"];

export const workspacePage = (
  context: PageContext,
  workspace: ShownWorkspace,
  { refused, name }: { refused: PageRefusal | undefined; name: string },
): Markup => {
  const mayChange = context.may("write:workspace");
  return html`<h1>Workspace</h1>
${withErrorSummary(
  refused,
  html`<section>
<h2>Name</h2>
${
  mayChange
    ? form(
        context,
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
<dl><dt>Created</dt><dd>${when(context, workspace.created_at)}</dd><dt>Its id in the API</dt><dd><code>${workspace.id}</code></dd></dl>
</section>
`,
)}${approvalSection(context, workspace)}
${pauseSwitch(context, pauseIn(workspace), "/settings/workspace")}`;
};

function approvalSection(
  context: PageContext,
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
  context.may("write:workspace") &&
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
  context.may("write:workspace") &&
  html`<p><a class="press" href="/settings/workspace/${isNamed ? "waive" : "require"}-sign-in">${
    isNamed ? "Let links decide without a sign-in" : "Require a sign-in for decisions by link"
  }</a></p>`
}
</section>`;
}

/** A change of who has to approve, which is confirmed on a page of its own. `patch`: the body of the API's PATCH. */
export type ApprovalSwitch = {
  /** Last part of the page's path. */
  path: string;
  patch: { require_human_approval: boolean } | { require_named_approvers: boolean };
  /** Title of the page; its heading asks this as a question. */
  title: string;
  consequence: string;
  button: string;
};

/** Asks before the change, and tells what follows from it. */
export function approvalSwitchPage(context: PageContext, change: ApprovalSwitch & { loosens: boolean }): Markup {
  const { path, title, consequence, loosens } = change;
  return html`<h1>${title}?</h1>
<section>
<p>${consequence}</p>
${form(context, { action: `/settings/workspace/${path}` }, button(change.button, { kind: loosens ? "danger" : "approve" }))}
</section>
<p><a class="press" href="/settings/workspace">Cancel</a></p>`;
}
