import { type WorkspaceOfUser, workspacesOfUser } from "#projections/members/queries.ts";
import type { Issued, Session } from "#src/platform/accounts/sessions.ts";
import { Rejected } from "#streams/decider.ts";
import { activeMember } from "#streams/member/decider.ts";
import type { SessionsEndedBecause } from "#streams/user/events.ts";
import type { Dependencies } from "../dependencies.ts";
import {
  causeOfPerson,
  passwordsOf,
  personById,
  personOf,
  type RequestOrigin,
  type UserAccount,
  wrongCredentials,
} from "./users.ts";

/** A signed-in person and their session. */
export type SignedIn = { person: UserAccount; session: Session };

/**
 * Starts a session. `earlier`: the browser's previous session, which is ended, so that nobody who planted it in the browser can use it.
 * Throws Rejected unauthorized for an unknown address, a wrong password or a disabled user; response and work are the same in each case.
 */
export async function signIn(
  deps: Dependencies,
  { email, password, earlier }: { email: string; password: string; earlier: Session | undefined },
  by: RequestOrigin,
): Promise<{ person: UserAccount; issued: Issued }> {
  const person = await personOf(deps, email);
  const passwords = await passwordsOf(deps, person);
  const mayEnter = person !== undefined && !person.disabled;
  const isRight = await deps.accounts.passwords.matches(mayEnter ? person.userId : null, password);
  if (!mayEnter || !isRight) throw wrongCredentials();
  return { person, issued: await startSession(deps, { person, earlier, passwords }, by) };
}

type SessionStart = {
  person: UserAccount;
  workspaceId?: string;
  earlier: Session | undefined;
  /** Number of passwords that the person had set when the password was checked; absent if it was not checked. */
  passwords?: number;
};

/**
 * Starts a session that shows `workspaceId` (default: one of the person's workspaces), and ends the browser's previous session. Throws
 * Rejected unauthorized if the person was disabled, or changed their password, meanwhile.
 */
export async function startSession(
  deps: Dependencies,
  { person, workspaceId, earlier, passwords }: SessionStart,
  by: RequestOrigin,
): Promise<Issued> {
  const { userId } = person;
  if (earlier) await deps.accounts.sessions.end(earlier.userId, earlier.id);
  const shown = workspaceId ?? (await workspacesOf(deps, userId))[0]?.id ?? null;
  const issued = await deps.accounts.sessions.start({ userId, workspaceId: shown, agent: by.userAgent ?? null });
  try {
    const sessionId = issued.session.id;
    const record = { type: "RecordSignIn", sessionId, ...(passwords !== undefined && { passwords }) } as const;
    await deps.users.handle(userId, record, causeOfPerson(deps, person, by));
  } catch (error) {
    await deps.accounts.sessions.end(userId, issued.session.id);
    throw error instanceof Rejected ? wrongCredentials() : error;
  }
  return issued;
}

/** Returns the person of a session; undefined if they are disabled. */
export async function signedInBy(deps: Dependencies, session: Session): Promise<SignedIn | undefined> {
  const person = await personById(deps, session.userId);
  return person && !person.disabled ? { person, session } : undefined;
}

export const signOut = (deps: Dependencies, { person, session }: SignedIn): Promise<boolean> =>
  deps.accounts.sessions.end(person.userId, session.id);

/** Ends all sessions of the person, except `except`. Returns their ids: no request may be answered under them any more. */
export async function endSessions(
  deps: Dependencies,
  { person, because, except }: { person: UserAccount; because: SessionsEndedBecause; except?: string },
  by: RequestOrigin,
): Promise<string[]> {
  const ended = await deps.accounts.sessions.endAll(person.userId, except === undefined ? {} : { except });
  const record = { type: "RecordSessionsEnded", because } as const;
  await deps.users.handle(person.userId, record, causeOfPerson(deps, person, by));
  return ended;
}

/** Returns the workspaces that a user may open. The read model lists them; each member stream confirms its entry. */
export async function workspacesOf(
  deps: Dependencies,
  userId: string,
): Promise<Pick<WorkspaceOfUser, "id" | "name" | "role">[]> {
  const listed = await workspacesOfUser(deps.reads, userId);
  const judged = await Promise.all(
    listed.map(async ({ id, name }) => {
      const member = activeMember((await deps.members.load(id)).state, userId);
      return member && { id, name, role: member.role };
    }),
  );
  return judged.filter((each) => each !== undefined);
}
