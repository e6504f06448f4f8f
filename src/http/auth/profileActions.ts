import type { Dependencies } from "#src/commands/dependencies.ts";
import { changePassword, findReset, forgotPassword, resetPassword } from "#src/commands/users/passwords.ts";
import { findNewEmail, renameUser, requestNewEmail, useNewEmail } from "#src/commands/users/profile.ts";
import * as schemas from "../schemas/auth.ts";
import { type AuthAction, authAction, signedInAction } from "./action.ts";
import { done, mailed, sessionJson } from "./answers.ts";
import { linkForm } from "./linkForms.ts";
import * as pages from "./pages.ts";
import { emailForm, nameForm, passwordForm, refusedForm } from "./profileForms.ts";

export const passwordActions = (deps: Dependencies): AuthAction[] => [
  authAction(
    "POST /auth/password/forgot",
    {
      ...{ limit: "password_reset", body: schemas.ForgotBody, answers: schemas.MailedAnswer, status: 202 },
      summary: "Request a link to set a new password",
      description: "The response is the same for every address. Mail is sent only to an address that has an account.",
      form: pages.forgot,
    },
    async ({ body }) => {
      await forgotPassword(deps, body);
      return { json: mailed, next: "/forgot?done=mailed" };
    },
  ),
  authAction(
    "POST /auth/password/reset",
    {
      ...{ limit: "password_reset", body: schemas.ResetBody, answers: schemas.DoneAnswer },
      summary: "Set a new password with the mailed link",
      description: "Ends every session of the user.",
      form: linkForm("reset", (token) => findReset(deps, token), pages.reset),
    },
    async ({ body, by }) => {
      const { ended } = await resetPassword(deps, body, by);
      return { json: done, token: null, ended, next: "/sign-in?done=reset" };
    },
  ),
  signedInAction(
    "POST /auth/password/change",
    {
      ...{ limit: "sign_in", body: schemas.ChangeBody, answers: schemas.DoneAnswer, errors: ["unauthorized"] },
      summary: "Set a new password",
      description: "Ends all your other sessions; this one gets a new cookie.",
      form: refusedForm("Set a new password", passwordForm),
    },
    async ({ body: { current_password: currentPassword, password }, by, guarding }, who) => {
      const { issued, ended } = await guarding(who.person.email, () =>
        changePassword(deps, { who, currentPassword, password }, by),
      );
      return { json: done, token: issued?.token ?? null, ended, next: "/settings/profile?done=password_set" };
    },
  ),
];

export const profileActions = (deps: Dependencies): AuthAction[] => [
  signedInAction(
    "POST /auth/profile",
    {
      ...{ limit: "sign_in", body: schemas.ProfileBody, answers: schemas.SessionAnswer, errors: ["unauthorized"] },
      summary: "Change your name",
      form: refusedForm("Change your name", nameForm),
    },
    async ({ body: { name }, by }, who) => {
      await renameUser(deps, { who, name }, by);
      const person = { ...who.person, name };
      return { json: await sessionJson(deps, { ...who, person }), next: "/settings/profile?done=name_saved" };
    },
  ),
  signedInAction(
    "POST /auth/email",
    {
      ...{ limit: "password_reset", body: schemas.NewEmailBody, answers: schemas.MailedAnswer, status: 202 },
      ...{ errors: ["unauthorized"], summary: "Request to sign in with another address" },
      description:
        "The address changes when the link in the mail to the new address is used. The old address is notified immediately.",
      form: refusedForm("Use another address", emailForm),
    },
    async ({ body: { new_email: newEmail, password }, guarding }, who) => {
      await guarding(who.person.email, () => requestNewEmail(deps, { who, newEmail, password }));
      return { json: mailed, next: "/settings/profile?done=mailed" };
    },
  ),
  authAction(
    "POST /auth/email/confirm",
    {
      ...{ limit: "sign_in", body: schemas.TokenBody, answers: schemas.DoneAnswer },
      summary: "Confirm the new address with the mailed link",
      description: "Ends every session of the user.",
      form: linkForm("email", (token) => findNewEmail(deps, token), pages.newEmail),
    },
    async ({ body, by }) => {
      const { ended } = await useNewEmail(deps, body, by);
      return { json: done, token: null, ended, next: "/sign-in?done=email" };
    },
  ),
];
