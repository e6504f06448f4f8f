import { button, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { emailForm, nameForm, passwordForm } from "../../auth/profileForms.ts";
import { type ConsoleRoute, consolePage, shown } from "../framework/page.ts";
import type { PageContext } from "../framework/pageContext.ts";

/** `/settings/profile`: a person's own account. Its forms are sent to /auth, which redirects back here. */
export const profilePages = (): ConsoleRoute[] => [
  consolePage("GET /settings/profile", async (context) =>
    shown({ title: "Your profile", main: profile(context), current: "/settings" }),
  ),
];

function profile(context: PageContext): Markup {
  const { email, name } = context.principal.user;
  const state = { values: new URLSearchParams(), formToken: context.formToken };
  return html`<h1>Your profile</h1>
<section><h2>Name</h2>${nameForm(state, name)}</section>
<section><h2>Address</h2><p>You sign in with <strong><bdi>${shortLine(email, 254)}</bdi></strong>.</p>${emailForm(state)}</section>
<section><h2>Password</h2>${passwordForm(state, email)}</section>
<section><h2>Where you are signed in</h2><p><a class="press" href="/settings/sessions">See the devices you are signed in on</a></p>
${form(context, { action: "/auth/sign-out-everywhere" }, button("Sign out everywhere", { kind: "danger" }))}</section>
<section><h2>Workspaces</h2><p><a class="press" href="/workspaces">Open another workspace, or create one</a></p></section>`;
}
