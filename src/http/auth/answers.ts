import type { Dependencies } from "#src/commands/dependencies.ts";
import { type SignedIn, startSession, workspacesOf } from "#src/commands/users/signIn.ts";
import type { RequestOrigin, UserAccount } from "#src/commands/users/users.ts";
import type { Session } from "#src/platform/accounts/sessions.ts";
import { Rejected } from "#streams/decider.ts";
import { Strict } from "../schemas/common.ts";
import { firstPageOf } from "../web/firstPage.ts";
import type { AuthOutcome } from "./action.ts";

/** Answers shared by the actions of /auth. */

export const nothing = Strict({});
export const done = { done: true };
export const mailed = { mailed: true };

/** Waits until the read models contain the workspace, so that the next request finds it. Stops waiting if they lag too long. */
export const known = ({ projected }: Dependencies, position: number) =>
  projected(position, { of: ["members", "workspaces"] });

type NewSession = {
  person: UserAccount;
  workspaceId: string;
  position: number;
  by: RequestOrigin;
  session: Session | undefined;
};

/** Signs a person in, replacing the browser's earlier session. */
export async function started(
  deps: Dependencies,
  { person, workspaceId, position, by, session: earlier }: NewSession,
): Promise<AuthOutcome> {
  const { session, token } = await startSession(deps, { person, workspaceId, earlier }, by);
  await known(deps, position);
  const json = await sessionJson(deps, { person, session });
  return { json, token, next: firstPageIn(json), ended: earlier ? [earlier.id] : [] };
}

/** Switches the session to another workspace, under a new id and token. */
export async function shown(deps: Dependencies, who: SignedIn, workspaceId: string): Promise<AuthOutcome> {
  const issued = await deps.accounts.sessions.choose(who.session.id, workspaceId);
  if (!issued) throw new Rejected("unauthorized", "you are not signed in: sign in first");
  const json = await sessionJson(deps, { ...who, session: issued.session });
  return { json, token: issued.token, ended: [who.session.id], next: firstPageIn(json) };
}

/** Path of the page that a signed-in person sees first in the workspace that they use. */
export const firstPageIn = ({ workspaces, workspace_id }: Awaited<ReturnType<typeof sessionJson>>): string =>
  firstPageOf(workspaces.find(({ id }) => id === workspace_id)?.role);

/** The signed-in person and their workspaces. */
export async function sessionJson(deps: Dependencies, { person, session }: SignedIn) {
  const { userId: id, email, name } = person;
  return { user: { id, email, name }, workspaces: await workspacesOf(deps, id), workspace_id: session.workspaceId };
}
