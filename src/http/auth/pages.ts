import { asSentence } from "#src/html/asSentence.ts";
import { button, errorAt, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { shortLine } from "#src/html/visible.ts";
import { cutText } from "#streams/cutText.ts";
import type { FormPage, FormState } from "./action.ts";

/** Pages shown without a session. Each works without script, and reveals nothing about anyone but the holder of its link. */

/** State of a form that is shown for the first time. */
export const empty: FormState = { values: new URLSearchParams(), formToken: "" };

const hidden = (name: string, value: string | null | undefined): Markup | undefined =>
  value ? html`<input type="hidden" name="${name}" value="${value}">` : undefined;

/** A value typed earlier, shortened to what a person would type. */
const typed = ({ values }: FormState, name: string): string => cutText(values.get(name) ?? "", 300);

const emailField = (state: FormState, { name = "email", label = "Email address" } = {}): Markup =>
  field({
    ...{ name, label, type: "email", required: true, autocomplete: "username", maxlength: 254 },
    value: typed(state, name),
    error: errorAt(state.refused, name),
  });

/** Shows the address, so that password managers know which account the password is for. */
const knownEmail = (email: string): Markup =>
  field({
    ...{ name: "username", label: "Email address", type: "email", required: true, readonly: true },
    ...{ autocomplete: "username", value: email },
  });

const newPassword = (state: FormState, label = "Password"): Markup =>
  field({
    ...{ name: "password", label, type: "password", required: true, autocomplete: "new-password" },
    hint: "12 characters or more. A few unrelated words make a strong password that is easy to type.",
    error: errorAt(state.refused, "password"),
  });

const nameField = (state: FormState): Markup =>
  field({
    ...{ name: "name", label: "Your name", autocomplete: "name", maxlength: 100, value: typed(state, "name") },
    hint: "Colleagues see it next to your decisions.",
    error: errorAt(state.refused, "name"),
  });

const cardOf = (title: string, { refused }: Pick<FormState, "refused">, ...content: MarkupValue[]): FormPage => ({
  title,
  main: html`<div class="door"><h1>${title}</h1>${withErrorSummary(refused, content)}</div>`,
});

const told = (
  title: string,
  sentences: readonly MarkupValue[],
  links: readonly (readonly [path: string, label: string])[] = [],
): FormPage =>
  cardOf(
    title,
    {},
    sentences.map((sentence) => html`<p>${sentence}</p>`),
    links.map(([path, label]) => html`<p><a class="press" href="${path}">${label}</a></p>`),
  );

/** `next`: path to continue at. `said`: notice about the previous action. */
export const signIn = (
  state: FormState,
  { next, said, mayRegister }: { next?: string | undefined; said?: string | undefined; mayRegister: boolean },
): FormPage =>
  cardOf(
    "Sign in",
    state,
    said !== undefined && html`<p class="notice" role="status">${said}</p>`,
    form(
      state,
      { action: "/auth/sign-in" },
      hidden("next", next ?? state.values.get("next")),
      emailField(state),
      field({
        ...{ name: "password", label: "Password", type: "password", required: true, autocomplete: "current-password" },
        error: errorAt(state.refused, "password"),
      }),
      button("Sign in", { kind: "approve" }),
    ),
    html`<p><a class="press" href="/forgot">Forgot your password?</a></p>`,
    mayRegister && html`<p>New here? <a class="press" href="/sign-up">Create an account</a></p>`,
  );

export const signUp = (state: FormState): FormPage =>
  cardOf(
    "Create an account",
    state,
    html`<p class="soft">We will mail you a link. Open it to choose a password.</p>`,
    form(
      state,
      { action: "/auth/sign-up" },
      emailField(state),
      nameField(state),
      field({
        ...{ name: "workspace_name", label: "Name of your workspace", autocomplete: "organization", maxlength: 100 },
        value: typed(state, "workspace_name"),
        error: errorAt(state.refused, "workspace_name"),
      }),
      button("Mail me the link", { kind: "approve" }),
    ),
    html`<p>Already have an account? <a class="press" href="/sign-in">Sign in</a></p>`,
  );

/** Shown whether or not a mail was sent, so that it does not reveal whether an account exists. */
export const mailed = (what: "sign-up" | "reset"): FormPage =>
  told(
    "Check your inbox",
    [
      what === "sign-up"
        ? "We sent a mail to that address. Open the link in it to continue."
        : "If the address has an account, a mail with a link is on its way.",
      "If no mail arrives within a few minutes, check your spam folder and the address, then try again. Only the link in the newest mail works.",
    ],
    [["/sign-in", "To sign in"]],
  );

export const signUpClosed = (): FormPage =>
  told(
    "Accounts are by invitation here",
    ["Ask an owner or admin of your workspace to invite you. You will get a mail with a link to create your account."],
    [["/sign-in", "Sign in"]],
  );

export const confirm = (state: FormState, { token, email }: { token: string; email: string }): FormPage =>
  cardOf(
    "Choose a password",
    state,
    html`<p class="soft">Sending this form confirms your address and creates your account.</p>`,
    form(
      state,
      { action: "/auth/confirm" },
      hidden("token", token),
      knownEmail(email),
      newPassword(state),
      button("Create my account", { kind: "approve" }),
    ),
  );

export const forgot = (state: FormState): FormPage =>
  cardOf(
    "Set a new password",
    state,
    html`<p class="soft">We will mail you a link. It works for 60 minutes.</p>`,
    form(
      state,
      { action: "/auth/password/forgot" },
      emailField(state),
      button("Mail me the link", { kind: "approve" }),
    ),
    html`<p><a class="press" href="/sign-in">Back to sign in</a></p>`,
  );

export const reset = (state: FormState, { token, email }: { token: string; email: string }): FormPage =>
  cardOf(
    "Set a new password",
    state,
    html`<p class="soft">This signs you out everywhere.</p>`,
    form(
      state,
      { action: "/auth/password/reset" },
      hidden("token", token),
      knownEmail(email),
      newPassword(state, "New password"),
      button("Set this password", { kind: "approve" }),
    ),
  );

export const newEmail = (state: FormState, { token, email }: { token: string; email: string }): FormPage =>
  cardOf(
    "Use this address?",
    state,
    html`<p>Your account signs in with <strong><bdi>${shortLine(email, 254)}</bdi></strong> from now on, and no longer with the old address. This signs you out everywhere.</p>`,
    form(
      state,
      { action: "/auth/email/confirm" },
      hidden("token", token),
      button("Use this address", { kind: "approve" }),
    ),
  );

export type InvitationDetails = {
  token: string;
  workspaceName: string;
  role: string;
  /** Null: the invited person enters their own address. */
  email: string | null;
  hasAccount: boolean;
  /** The address of the person who is signed in now, if any. */
  signedInAs: string | undefined;
};

export function invitation(state: FormState, invited: InvitationDetails): FormPage {
  const { token, workspaceName, role, email, hasAccount, signedInAs } = invited;
  const what = html`<p>You are invited to the workspace <strong><bdi>“${shortLine(workspaceName, 100).replaceAll(/[“”]/g, "'")}”</bdi></strong>, as <strong>${role}</strong>${email !== null && html`, under the address <bdi>${shortLine(email, 254)}</bdi>`}.</p>`;
  const here = `/invitation/${encodeURIComponent(token)}`;
  if (signedInAs !== undefined && (email === null || sameAddress(signedInAs, email))) {
    const accept = [hidden("token", token), button("Accept the invitation", { kind: "approve" })];
    const action = { action: "/auth/invitations/accept" };
    return cardOf("You are invited", state, what, form(state, action, ...accept));
  }
  if (hasAccount || signedInAs !== undefined) {
    const other =
      signedInAs !== undefined &&
      html`<p>You are signed in with another address. Sign in with the invited address to accept; this signs you out of the other account.</p>`;
    const signIn = html`<p><a class="press" href="/sign-in?again=1&amp;next=${encodeURIComponent(here)}">Sign in to accept</a></p>`;
    return cardOf(
      "You are invited",
      state,
      what,
      other,
      hasAccount || email === null ? signIn : undefined,
      !hasAccount && register(state, { token, email }),
    );
  }
  return cardOf("You are invited", state, what, register(state, { token, email }));
}

const register = (state: FormState, { token, email }: { token: string; email: string | null }): Markup =>
  form(
    { formToken: "" },
    { action: "/auth/invitations/accept" },
    hidden("token", token),
    email === null ? emailField(state) : knownEmail(email),
    nameField(state),
    newPassword(state),
    button("Create account and join", { kind: "approve" }),
  );

const sameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

export type ListedWorkspace = { id: string; name: string; role: string };

/** For a signed-in person: their workspaces, and a form to create another one. */
export const workspaces = (
  state: FormState,
  { listed, shown }: { listed: readonly ListedWorkspace[]; shown: string | null },
): FormPage =>
  cardOf(
    "Your workspaces",
    state,
    listed.length === 0 &&
      html`<p>You are not a member of a workspace. Ask an owner for an invitation, or create a workspace.</p>`,
    listed.map(({ id, name, role }) =>
      form(
        state,
        { action: "/auth/workspace", className: "inline" },
        hidden("workspace_id", id),
        html`<p><bdi>${shortLine(name, 100)}</bdi> <span class="soft">${role}${id === shown && ", open now"}</span></p>`,
        button(html`Open<span class="unseen"> ${shortLine(name, 100)}</span>`),
      ),
    ),
    html`<h2>Another workspace</h2>`,
    form(
      state,
      { action: "/auth/workspaces" },
      field({
        ...{ name: "name", label: "Name", required: true, maxlength: 100, value: typed(state, "name") },
        error: errorAt(state.refused, "name"),
      }),
      button("Make a workspace"),
    ),
    form(state, { action: "/auth/sign-out" }, button("Sign out", { kind: "quiet" })),
  );

/** Shown for an invalid link. `sentence`: why it is invalid. */
export const badLink = (sentence: string, again: readonly [path: string, label: string]): FormPage =>
  told("This link does not work", [asSentence(sentence)], [again]);

export const notOwnForm = (): FormPage =>
  told("Please try that again", [
    "Nothing was changed. The page was out of date, or it was not a page of this service. Go back, reload the page, and press the button again.",
  ]);

export const failed = (status: number): FormPage =>
  told(status === 503 || status === 429 ? "Please try again in a moment" : "That did not work", [
    status === 429
      ? "Too many requests within a minute."
      : "Nothing was changed, or we could not confirm it. Go back, and try again.",
  ]);
