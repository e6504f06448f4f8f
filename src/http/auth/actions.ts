import type { Session } from "#src/accounts/sessions.ts";
import {
  acceptAsNew,
  acceptSignedIn,
  anotherWorkspace,
  findInvited,
  requireMember,
} from "#src/commands/users/invitations.ts";
import { changePassword, findReset, forgotPassword, resetPassword } from "#src/commands/users/passwords.ts";
import { askForNewEmail, findNewEmail, rename, useNewEmail } from "#src/commands/users/profile.ts";
import {
  endSessions,
  type SignedIn,
  signedInBy,
  signIn,
  signOut,
  startSession,
  workspacesOf,
} from "#src/commands/users/signIn.ts";
import { askToSignUp, confirmSignUp, findConfirmation } from "#src/commands/users/signUp.ts";
import type { By, Person, UserDeps } from "#src/commands/users/users.ts";
import { Rejected } from "#streams/decider.ts";
import * as schemas from "../schemas/auth.ts";
import { Strict } from "../schemas/common.ts";
import { type AuthAction, authAction, type Done, type FormPage, type FormState, signedInAction } from "./action.ts";
import * as pages from "./pages.ts";

const nothing = Strict({});
const done = { done: true };
const mailed = { mailed: true };

/** So that the next request finds the workspace; where the read models lag, it finds it a moment later. */
const known = ({ projected }: UserDeps, position: number) => projected(position, { of: ["members", "workspaces"] });

/** Every action of /auth. */
export const authActions = (deps: UserDeps): AuthAction[] => [
  ...signingUp(deps),
  ...signingIn(deps),
  ...aboutPasswords(deps),
  ...aboutOneself(deps),
  ...aboutWorkspaces(deps),
];

const signingUp = (deps: UserDeps): AuthAction[] => [
  authAction(
    "POST /auth/sign-up",
    {
      ...{ limit: "sign_up", body: schemas.SignUpBody, answers: schemas.MailedAnswer, status: 202 },
      summary: "Ask for an account",
      description:
        "The same answer for every address: the mail to it has a link, or says that it has an account. Nothing is made before the link is used. Only where SIGN_UP is open.",
      form: pages.signUp,
    },
    async ({ body: { email, name = null, workspace_name: workspaceName = null } }) => {
      await askToSignUp(deps, { email, name, workspaceName });
      return { json: mailed, next: "/sign-up?done=mailed" };
    },
  ),
  authAction(
    "POST /auth/confirm",
    {
      ...{ limit: "sign_in", body: schemas.ConfirmBody, answers: schemas.SessionAnswer, status: 201 },
      summary: "Use the link of a sign-up",
      description:
        "Makes the user and a workspace that they own, and signs them in. If it fails on the way, the same link goes on with it.",
      form: linkForm("confirm", (token) => findConfirmation(deps, token), pages.confirm),
    },
    async ({ body, by, session }) => started(deps, { ...(await confirmSignUp(deps, body, by)), by, session }),
  ),
];

const signingIn = (deps: UserDeps): AuthAction[] => [
  authAction(
    "POST /auth/sign-in",
    {
      ...{ limit: "sign_in", body: schemas.SignInBody, answers: schemas.SessionAnswer, errors: ["unauthorized"] },
      summary: "Sign in",
      description:
        "One answer for an unknown address, a wrong password and a disabled user. The session is in a cookie.",
      form: (state) => pages.signIn(state, { mayRegister: deps.signUp === "open" }),
    },
    async ({ body: { email, password }, by, session, next, guarding }) => {
      const { person, issued } = await guarding(email, () => signIn(deps, { email, password, earlier: session }, by));
      return {
        json: await sessionJson(deps, { person, session: issued.session }),
        ...{ token: issued.token, next, ended: session ? [session.id] : [] },
      };
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
      summary: "End every session of yours",
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
      summary: "Who is signed in",
      form: undefined,
    },
    async (_, who) => ({ json: await sessionJson(deps, who), next: "/review" }),
  ),
];

const aboutPasswords = (deps: UserDeps): AuthAction[] => [
  authAction(
    "POST /auth/password/forgot",
    {
      ...{ limit: "password_reset", body: schemas.ForgotBody, answers: schemas.MailedAnswer, status: 202 },
      summary: "Ask for a link to set a new password",
      description: "The same answer for every address; mailed only to one that has an account.",
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
      summary: "Set a new password by the mailed link",
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
      description: "Ends every other session of yours; this one gets a new cookie.",
      form: undefined,
    },
    async ({ body: { current_password: currentPassword, password }, by, guarding }, who) => {
      const { issued, ended } = await guarding(who.person.email, () =>
        changePassword(deps, { who, currentPassword, password }, by),
      );
      return { json: done, token: issued?.token ?? null, ended, next: "/settings/profile?done=saved" };
    },
  ),
];

const aboutOneself = (deps: UserDeps): AuthAction[] => [
  signedInAction(
    "POST /auth/profile",
    {
      ...{ limit: "sign_in", body: schemas.ProfileBody, answers: schemas.SessionAnswer, errors: ["unauthorized"] },
      summary: "Change your name",
      form: undefined,
    },
    async ({ body: { name }, by }, who) => {
      await rename(deps, { who, name }, by);
      const person = { ...who.person, name };
      return { json: await sessionJson(deps, { ...who, person }), next: "/settings/profile?done=saved" };
    },
  ),
  signedInAction(
    "POST /auth/email",
    {
      ...{ limit: "password_reset", body: schemas.NewEmailBody, answers: schemas.MailedAnswer, status: 202 },
      ...{ errors: ["unauthorized"], summary: "Ask to sign in with another address" },
      description:
        "It changes when the link in the mail to the new address is used. The address before is told at once.",
      form: undefined,
    },
    async ({ body: { new_email: newEmail, password }, guarding }, who) => {
      await guarding(who.person.email, () => askForNewEmail(deps, { who, newEmail, password }));
      return { json: mailed, next: "/settings/profile?done=mailed" };
    },
  ),
  authAction(
    "POST /auth/email/confirm",
    {
      ...{ limit: "sign_in", body: schemas.TokenBody, answers: schemas.DoneAnswer },
      summary: "Use the link that was mailed to a new address",
      description: "Ends every session of the user.",
      form: linkForm("email", (token) => findNewEmail(deps, token), pages.newEmail),
    },
    async ({ body, by }) => {
      const { ended } = await useNewEmail(deps, body, by);
      return { json: done, token: null, ended, next: "/sign-in?done=email" };
    },
  ),
];

const aboutWorkspaces = (deps: UserDeps): AuthAction[] => [
  signedInAction(
    "POST /auth/workspace",
    {
      ...{
        limit: "session",
        body: schemas.ChooseBody,
        answers: schemas.SessionAnswer,
        errors: ["unauthorized", "not_found"],
      },
      summary: "Choose the workspace that the session shows",
      form: undefined,
    },
    async ({ body: { workspace_id: workspaceId } }, who) => {
      await requireMember(deps, { person: who.person, workspaceId });
      return shown(deps, who, workspaceId);
    },
  ),
  signedInAction(
    "POST /auth/workspaces",
    {
      ...{ limit: "sign_up", body: schemas.WorkspaceBody, answers: schemas.SessionAnswer, status: 201 },
      ...{ errors: ["unauthorized"], summary: "Make another workspace" },
      form: async (state) => pages.workspaces(state, { listed: [], shown: null }),
    },
    async ({ body: { name }, by }, who) => {
      const { workspaceId, position } = await anotherWorkspace(deps, { who, name }, by);
      await known(deps, position);
      return shown(deps, who, workspaceId);
    },
  ),
  authAction(
    "POST /auth/invitations/accept",
    {
      ...{ limit: "sign_in", body: schemas.AcceptBody, answers: schemas.SessionAnswer },
      summary: "Accept an invitation",
      description:
        "Signed in with the invited address; or with `password`, which makes the user and signs them in. `email` only for an invitation that names no address.",
      form: (state) => invitationPage(deps, { state, token: state.values.get("token") ?? "" }),
    },
    async ({ body: { token, password, name = null, email }, by, session }) => {
      if (password !== undefined) {
        const accepted = await acceptAsNew(deps, { token, password, name, email }, by);
        return started(deps, { ...accepted, by, session });
      }
      const who = session && (await signedInBy(deps, session));
      if (!who)
        throw new Rejected("unauthorized", "sign in with the invited address, or choose a password for a new account");
      const { workspaceId, position } = await acceptSignedIn(deps, { token, who }, by);
      await known(deps, position);
      return shown(deps, who, workspaceId);
    },
  ),
];

type Joined = { person: Person; workspaceId: string; position: number; by: By; session: Session | undefined };

/** Somebody new is signed in, in place of whoever was. */
async function started(deps: UserDeps, { person, workspaceId, position, by, session: earlier }: Joined): Promise<Done> {
  const { session, token } = await startSession(deps, { person, workspaceId, earlier }, by);
  await known(deps, position);
  const json = await sessionJson(deps, { person, session });
  return { json, token, next: "/review", ended: earlier ? [earlier.id] : [] };
}

/** The session shows another workspace from now on, under a new id and token. */
async function shown(deps: UserDeps, who: SignedIn, workspaceId: string): Promise<Done> {
  const issued = await deps.accounts.sessions.choose(who.session.id, workspaceId);
  if (!issued) throw new Rejected("unauthorized", "nobody is signed in here: sign in first");
  const json = await sessionJson(deps, { ...who, session: issued.session });
  return { json, token: issued.token, ended: [who.session.id], next: "/review" };
}

async function sessionJson(deps: UserDeps, { person, session }: SignedIn) {
  const { userId: id, email, name } = person;
  return { user: { id, email, name }, workspaces: await workspacesOf(deps, id), workspace_id: session.workspaceId };
}

type Linked = { email: string };
type LinkPage = (state: FormState, link: { token: string; email: string }) => FormPage;

/** The form behind a mailed link, shown again after it was refused. */
function linkForm(kind: keyof typeof again, find: (token: string) => Promise<Linked>, shownAs: LinkPage) {
  return (state: FormState) => linkPage(state.values.get("token") ?? "", { kind, find, shownAs, state });
}

const again = {
  confirm: ["/sign-up", "Ask for a new one"],
  reset: ["/forgot", "Ask for a new one"],
  email: ["/settings/profile", "To your profile"],
  invitation: ["/sign-in", "To sign in"],
} as const;

/** A page behind a mailed link, which shows and never uses it; or why the link is not good. */
export async function linkPage(
  token: string,
  {
    kind,
    find,
    shownAs,
    state = pages.empty,
  }: { kind: keyof typeof again; find: (token: string) => Promise<Linked>; shownAs: LinkPage; state?: FormState },
): Promise<FormPage> {
  try {
    return shownAs(state, { token, ...(await find(token)) });
  } catch (error) {
    return pages.badLink(faultOf(error), again[kind]);
  }
}

export async function invitationPage(
  deps: UserDeps,
  { state, token, signedInAs }: { state: FormState; token: string; signedInAs?: string | undefined },
): Promise<FormPage> {
  try {
    const { workspaceName, role, email, hasAccount } = await findInvited(deps, token);
    return pages.invitation(state, { token, workspaceName, role, email, hasAccount, signedInAs });
  } catch (error) {
    return pages.badLink(faultOf(error), again.invitation);
  }
}

/** What is wrong with a link; whatever else is wrong passes. */
function faultOf(error: unknown): string {
  if (error instanceof Rejected && error.details.field === "token") return error.message.replace(/^token: /, "");
  throw error;
}
