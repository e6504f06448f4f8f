import { button, errorAt, field, form, withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { cutText } from "#streams/cutText.ts";
import type { FormPage, FormState } from "./action.ts";

/** Forms for one's own account: on the profile page, and alone after a refusal. */

const typed = ({ values }: FormState, name: string): string => cutText(values.get(name) ?? "", 300);

export const nameForm = (state: FormState, name: string | null = null): Markup =>
  form(
    state,
    { action: "/auth/profile" },
    field({
      ...{ name: "name", label: "Your name", autocomplete: "name", maxlength: 100 },
      value: typed(state, "name") || name,
      hint: "Colleagues see it next to your decisions. Without a name they see your address.",
      error: errorAt(state.refused, "name"),
    }),
    button("Save the name"),
  );

export const emailForm = (state: FormState): Markup =>
  form(
    state,
    { action: "/auth/email" },
    field({
      ...{
        name: "new_email",
        label: "New address",
        type: "email",
        required: true,
        autocomplete: "email",
        maxlength: 254,
      },
      value: typed(state, "new_email"),
      hint: "We will mail you a link. Your address changes when you open the link, and then you have to sign in again.",
      error: errorAt(state.refused, "new_email"),
    }),
    field({
      ...{ name: "password", id: "email-password", label: "Your password", type: "password", required: true },
      ...{ autocomplete: "current-password", error: errorAt(state.refused, "password") },
    }),
    button("Mail me the link"),
  );

/** `email`: tells password managers which account the password is for. */
export const passwordForm = (state: FormState, email?: string): Markup =>
  form(
    state,
    { action: "/auth/password/change" },
    email !== undefined && html`<input type="hidden" name="username" autocomplete="username" value="${email}">`,
    field({
      ...{ name: "current_password", label: "Your current password", type: "password", required: true },
      ...{ autocomplete: "current-password", error: errorAt(state.refused, "current_password") },
    }),
    field({
      ...{ name: "password", label: "New password", type: "password", required: true, autocomplete: "new-password" },
      hint: "12 characters or more. You will be signed out everywhere else.",
      error: errorAt(state.refused, "password"),
    }),
    button("Set the new password"),
  );

/** A page with one of these forms, after it was refused. */
export const refusedForm =
  (title: string, shown: (state: FormState) => Markup) =>
  (state: FormState): FormPage => ({
    title,
    main: html`<div class="door"><h1>${title}</h1>${withErrorSummary(state.refused, shown(state))}<p><a class="press" href="/settings/profile">Back to your profile</a></p></div>`,
  });
