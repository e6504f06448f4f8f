import { BadLink, type LinkFault } from "#src/platform/accounts/links.ts";
import { invalidRequest, Rejected } from "#streams/decider.ts";
import type { Actor } from "#streams/event.ts";
import type { User } from "#streams/user/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { addressHash } from "../identities/addresses.ts";

/** Origin of the request: IP address, user agent and request id, as far as HTTP gives them. */
export type RequestOrigin = { ip: string | undefined; userAgent: string | undefined; requestId: string | undefined };

/** An existing user. */
export type UserAccount = { userId: string; email: string; name: string | null; disabled: boolean };

/** Id of no user. Its state is loaded for unknown addresses, so that every address causes the same work. */
const nobody = "00000000-0000-0000-0000-000000000000";

/** Hashes the address of an account. Case is ignored; a +tag is not. */
export const userEmailHash = (email: string): string => addressHash(email);

/** Returns the user of an address; undefined if there is none, or the account was never completed. */
export async function personOf(
  deps: Pick<Dependencies, "users" | "userEmails">,
  email: string,
): Promise<UserAccount | undefined> {
  const { state } = await deps.userEmails.load(userEmailHash(email));
  return personById(deps, state.userId ?? nobody);
}

/** Returns how many passwords a user has had. Loads a state for unknown addresses too, so that every address causes the same work. */
export const passwordsOf = async (
  deps: Pick<Dependencies, "users">,
  person: UserAccount | undefined,
): Promise<number> => (await deps.users.load(person?.userId ?? nobody)).state.passwords;

export async function personById(deps: Pick<Dependencies, "users">, userId: string): Promise<UserAccount | undefined> {
  return personIn(userId, (await deps.users.load(userId)).state);
}

const personIn = (userId: string, { email, name, disabled }: User): UserAccount | undefined =>
  email === null ? undefined : { userId, email, name, disabled };

/** Returns the cause of an action by a person who is signed in or gave their password. */
export const causeOfPerson = (
  deps: Pick<Dependencies, "ids">,
  { userId, email, name }: UserAccount,
  by: RequestOrigin,
): Cause => causeOf(deps, { kind: "session", id: userId, name: name ?? email, email }, by);

/** Returns the cause of an action by the holder of a link mailed to this address. */
export const causeOfLink = (deps: Pick<Dependencies, "ids">, address: string, by: RequestOrigin): Cause =>
  causeOf(deps, { kind: "email_link", id: address }, by);

function causeOf(
  deps: Pick<Dependencies, "ids">,
  who: Actor,
  { ip, userAgent, requestId = deps.ids.uuid() }: RequestOrigin,
): Cause {
  const actor = { ...who, ...(ip && { ip }), ...(userAgent && { userAgent }), requestId };
  return { actor, workspaceId: null, correlationId: requestId, causationId: requestId };
}

/** Runs the work for a link. Throws Rejected invalid_request naming what is wrong with the link. */
export async function withLink<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BadLink) throw invalidRequest("token", sentences[error.fault]);
    throw error;
  }
}

const sentences: Record<LinkFault, string> = {
  unknown: "this link does not exist: use the link exactly as it is in the mail",
  used: "this link was already used: it works only once",
  replaced: "a newer mail has replaced this link: use the newest one",
  expired: "this link has expired: ask for a new one",
  in_use: "this link is in use: try again in a minute",
};

/** Returns the error for a wrong address, a wrong password and a disabled user, which must not be told apart. */
export const wrongCredentials = (): Rejected => new Rejected("unauthorized", "the address or the password is wrong");
