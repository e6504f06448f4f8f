import type { Dependencies } from "#src/commands/dependencies.ts";
import { acceptAsNew, acceptSignedIn, createAnotherWorkspace, requireMember } from "#src/commands/users/invitations.ts";
import { signedInBy } from "#src/commands/users/signIn.ts";
import { Rejected } from "#streams/decider.ts";
import * as schemas from "../schemas/auth.ts";
import { type AuthAction, authAction, signedInAction } from "./action.ts";
import { known, shown, started } from "./answers.ts";
import { invitationPage } from "./linkForms.ts";
import * as pages from "./pages.ts";

export const workspaceActions = (deps: Dependencies): AuthAction[] => [
  signedInAction(
    "POST /auth/workspace",
    {
      ...{
        limit: "session",
        body: schemas.ChooseBody,
        answers: schemas.SessionAnswer,
        errors: ["unauthorized", "not_found"],
      },
      summary: "Choose the workspace of the session",
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
      ...{ errors: ["unauthorized"], summary: "Create another workspace" },
      form: async (state) => pages.workspaces(state, { listed: [], shown: null }),
    },
    async ({ body: { name }, by }, who) => {
      const { workspaceId, position } = await createAnotherWorkspace(deps, { who, name }, by);
      await known(deps, position);
      return shown(deps, who, workspaceId);
    },
  ),
  authAction(
    "POST /auth/invitations/accept",
    {
      ...{ limit: "sign_in", body: schemas.AcceptBody, answers: schemas.SessionAnswer, orSession: true },
      summary: "Accept an invitation",
      description:
        "Accepted by a user who is signed in with the invited address; or with `password`, which creates the user and signs them in. Give `email` only for an invitation that names no address.",
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
