import type { Dependencies } from "#src/commands/dependencies.ts";
import { endSessions, signIn, signOut } from "#src/commands/users/signIn.ts";
import { confirmSignUp, findConfirmation, requestSignUp } from "#src/commands/users/signUp.ts";
import * as schemas from "../schemas/auth.ts";
import { type AuthAction, authAction, signedInAction } from "./action.ts";
import { done, firstPageIn, mailed, nothing, sessionJson, started } from "./answers.ts";
import { linkForm } from "./linkForms.ts";
import * as pages from "./pages.ts";
import { passwordActions, profileActions } from "./profileActions.ts";
import { workspaceActions } from "./workspaceActions.ts";

/** Every action of /auth. */
export const authActions = (deps: Dependencies): AuthAction[] => [
  ...signingUp(deps),
  ...signingIn(deps),
  ...passwordActions(deps),
  ...profileActions(deps),
  ...workspaceActions(deps),
];

const signingUp = (deps: Dependencies): AuthAction[] => [
  authAction(
    "POST /auth/sign-up",
    {
      ...{ limit: "sign_up", body: schemas.SignUpBody, answers: schemas.MailedAnswer, status: 202 },
      summary: "Request an account",
      description:
        "The response is the same for every address. The mail to it has a link, or says that the address already has an account. Nothing is created until the link is used. Only if SIGN_UP is open.",
      form: pages.signUp,
    },
    async ({ body: { email, name = null, workspace_name: workspaceName = null } }) => {
      await requestSignUp(deps, { email, name, workspaceName });
      return { json: mailed, next: "/sign-up?done=mailed" };
    },
  ),
  authAction(
    "POST /auth/confirm",
    {
      ...{ limit: "sign_in", body: schemas.ConfirmBody, answers: schemas.SessionAnswer, status: 201 },
      summary: "Use the link of a sign-up",
      description:
        "Creates the user and a workspace that they own, and signs them in. If it fails halfway, the same link can be used again to finish it.",
      form: linkForm("confirm", (token) => findConfirmation(deps, token), pages.confirm),
    },
    async ({ body, by, session }) => started(deps, { ...(await confirmSignUp(deps, body, by)), by, session }),
  ),
];

const signingIn = (deps: Dependencies): AuthAction[] => [
  authAction(
    "POST /auth/sign-in",
    {
      ...{ limit: "sign_in", body: schemas.SignInBody, answers: schemas.SessionAnswer, errors: ["unauthorized"] },
      summary: "Sign in",
      description:
        "The response is the same for an unknown address, a wrong password and a disabled user. The session is in a cookie.",
      form: (state) => pages.signIn(state, { mayRegister: deps.settings.signUp === "open" }),
    },
    async ({ body: { email, password }, by, session, next, guarding }) => {
      const { person, issued } = await guarding(email, () => signIn(deps, { email, password, earlier: session }, by));
      const json = await sessionJson(deps, { person, session: issued.session });
      return { json, token: issued.token, next: next ?? firstPageIn(json), ended: session ? [session.id] : [] };
    },
  ),
  signedInAction(
    "POST /auth/sign-out",
    {
      limit: "session",
      body: nothing,
      answers: schemas.DoneAnswer,
      errors: ["unauthorized"],
      summary: "Sign out",
      form: undefined,
    },
    async (_, who) => {
      await signOut(deps, who);
      return { json: done, token: null, ended: [who.session.id], next: "/sign-in?done=out" };
    },
  ),
  signedInAction(
    "POST /auth/sign-out-everywhere",
    {
      ...{ limit: "sign_in", body: nothing, answers: schemas.DoneAnswer, errors: ["unauthorized"] },
      summary: "End all your sessions",
      form: undefined,
    },
    async ({ by }, { person }) => {
      const ended = await endSessions(deps, { person, because: "asked" }, by);
      return { json: done, token: null, ended, next: "/sign-in?done=out" };
    },
  ),
  signedInAction(
    "GET /auth/session",
    {
      ...{ limit: "session", body: nothing, answers: schemas.SessionAnswer, errors: ["unauthorized"] },
      summary: "Read who is signed in",
      form: undefined,
    },
    async (_, who) => {
      const json = await sessionJson(deps, who);
      return { json, next: firstPageIn(json) };
    },
  ),
];
