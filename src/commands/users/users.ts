import { BadLink, type LinkFault } from "#src/platform/accounts/links.ts";
import { invalid, Rejected } from "#streams/decider.ts";
import type { Actor } from "#streams/event.ts";
import type { User } from "#streams/user/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { addressHash } from "../identities/addresses.ts";

/** What HTTP knows of the person who asks. */
export type By = { ip: string | undefined; userAgent: string | undefined; requestId: string | undefined };

/** A user who is there. */
export type Person = { userId: string; email: string; name: string | null; disabled: boolean };

/** An id that no user has: looked up if no user has an address, so that the same is done for every address. */
const nobody = "00000000-0000-0000-0000-000000000000";

/** An address as one account has it: upper and lower case do not tell two apart, tags do. */
export const userEmailHash = (email: string): string => addressHash(email);

/** Whose address it is. Undefined if no user has it, or its account was never finished. */
export async function personOf(
  deps: Pick<Dependencies, "users" | "userEmails">,
  email: string,
): Promise<Person | undefined> {
  const { state } = await deps.userEmails.load(userEmailHash(email));
  return personById(deps, state.userId ?? nobody);
}

/** How many passwords a user has had; asked for nobody too, so that the same is done for every address. */
export const passwordsOf = async (deps: Pick<Dependencies, "users">, person: Person | undefined): Promise<number> =>
  (await deps.users.load(person?.userId ?? nobody)).state.passwords;

export async function personById(deps: Pick<Dependencies, "users">, userId: string): Promise<Person | undefined> {
  return personIn(userId, (await deps.users.load(userId)).state);
}

const personIn = (userId: string, { email, name, disabled }: User): Person | undefined =>
  email === null ? undefined : { userId, email, name, disabled };

/** A person acts: signed in, or by their password. */
export const causeOfPerson = (deps: Pick<Dependencies, "ids">, { userId, email, name }: Person, by: By): Cause =>
  causeOf(deps, { kind: "session", id: userId, name: name ?? email, email }, by);

/** The holder of a link that was mailed to this address acts. */
export const causeOfLink = (deps: Pick<Dependencies, "ids">, address: string, by: By): Cause =>
  causeOf(deps, { kind: "email_link", id: address }, by);

function causeOf(
  deps: Pick<Dependencies, "ids">,
  who: Actor,
  { ip, userAgent, requestId = deps.ids.uuid() }: By,
): Cause {
  const actor = { ...who, ...(ip && { ip }), ...(userAgent && { userAgent }), requestId };
  return { actor, workspaceId: null, correlationId: requestId, causationId: requestId };
}

/** Does what a link is asked for. Throws Rejected invalid_request with what is wrong with the link. */
export async function withLink<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof BadLink) throw invalid("token", sentences[error.fault]);
    throw error;
  }
}

const sentences: Record<LinkFault, string> = {
  unknown: "this link is not known: use the link exactly as it is in the mail",
  used: "this link was used already: it works once",
  replaced: "a newer mail has replaced this link: use the newest one",
  expired: "this link has expired: ask for a new one",
  in_use: "this link is being used at this moment: try again in a minute",
};

/** One answer for a wrong address, a wrong password and a disabled user. */
export const wrongPair = (): Rejected => new Rejected("unauthorized", "the address or the password is wrong");
