import { button, choice, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { invalidRequest } from "#streams/decider.ts";
import { type DraftMail, draftMails } from "#streams/member/draftMail.ts";
import { type HeadMail, headMails } from "#streams/member/headMail.ts";
import { emailForm, nameForm, passwordForm } from "../../auth/profileForms.ts";
import { type ConsoleRoute, consoleForm, consolePage, seeOther, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";

/** `/settings/profile`: a person's own account, and what they are mailed about in this workspace. The forms of the account are sent to /auth, which redirects back here. */
export const profilePages = (): ConsoleRoute[] => [
  consolePage("GET /settings/profile", async (context) =>
    shown({
      title: "Your profile",
      main: profile(context, [await draftMailForm(context), await headMailForm(context)]),
      current: "/settings",
    }),
  ),
  consoleForm("POST /settings/profile/draft-mail", async (context) => {
    const draftMail = draftMails.find((each) => each === context.form.get("draft_mail"));
    if (draftMail === undefined) throw invalidRequest("draft_mail", "choose one of the values");
    await context.ask("PATCH /v1/members/me", { body: { draft_mail: draftMail } });
    return seeOther("/settings/profile", "saved");
  }),
  consoleForm("POST /settings/profile/head-mail", async (context) => {
    const headMail = headMails.find((each) => each === context.form.get("head_mail"));
    if (headMail === undefined) throw invalidRequest("head_mail", "choose one of the values");
    await context.ask("PATCH /v1/members/me/head-mail", { body: { head_mail: headMail } });
    return seeOther("/settings/profile", "saved");
  }),
];

const mailLabels: Record<DraftMail, string> = {
  off: "No mail",
  five_minutes: "Within five minutes",
  hour: "Once an hour",
};

/** The choice of mail about drafts in this workspace; nothing for people who do not decide about drafts. */
async function draftMailForm(context: PageContext): Promise<Markup | false> {
  if (!context.may("decide:drafts")) return false;
  const { draft_mail: value } = await context.ask("GET /v1/members/me");
  const choices = draftMails.map((each) => ({ value: each, label: mailLabels[each] }));
  const hint = "Only if new drafts wait. The mail says how many, and links to the review page. You sign in to decide.";
  return html`<section><h2>Mail about drafts</h2>${form(
    context,
    { action: "/settings/profile/draft-mail" },
    choice({ name: "draft_mail", label: "Drafts that wait in this workspace", hint, value, choices, required: true }),
    button("Save"),
  )}</section>`;
}

const headMailLabels: Record<HeadMail, string> = { off: "No mail", daily: "The newest one, once a day" };

/** The choice of mail about signed heads; nothing for people who do not read the audit tree. */
async function headMailForm(context: PageContext): Promise<Markup | false> {
  if (!context.may("read:audit")) return false;
  const { head_mail: value } = await context.ask("GET /v1/members/me/head-mail");
  const choices = headMails.map((each) => ({ value: each, label: headMailLabels[each] }));
  const hint = "Only if the history has grown. A copy in your mailbox shows later whether the history was changed.";
  return html`<section><h2>Mail with signed heads</h2>${form(
    context,
    { action: "/settings/profile/head-mail" },
    choice({ name: "head_mail", label: "Signed heads of the audit tree", hint, value, choices, required: true }),
    button("Save"),
  )}</section>`;
}

function profile(context: PageContext, mailForms: readonly (Markup | false)[]): Markup {
  const { email, name } = context.principal.user;
  const state = { values: new URLSearchParams(), formToken: context.formToken };
  return html`<h1>Your profile</h1>
<section><h2>Name</h2>${nameForm(state, name)}</section>
<section><h2>Address</h2><p>You sign in with <strong><bdi>${shortLine(email, 254)}</bdi></strong>.</p>${emailForm(state)}</section>
${mailForms}
<section><h2>Password</h2>${passwordForm(state, email)}</section>
<section><h2>Where you are signed in</h2><p><a class="press" href="/settings/sessions">See the devices you are signed in on</a></p>
${form(context, { action: "/auth/sign-out-everywhere" }, button("Sign out everywhere", { kind: "danger" }))}</section>
<section><h2>Workspaces</h2><p><a class="press" href="/workspaces">Open another workspace, or create one</a></p></section>`;
}
