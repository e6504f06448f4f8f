import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { linkUrl } from "./letters.ts";
import { type Person, personOf } from "./users.ts";

/** A link for a new password, for the operator to hand over: those that were mailed before are good no more. Throws Rejected. */
export async function resetLink(deps: Dependencies, email: string): Promise<string> {
  const { userId, email: address, disabled } = await userOf(deps, email);
  if (disabled) throw new Rejected("invalid_request", "this user is disabled: enable them first");
  const token = await deps.accounts.links.issue({ kind: "reset", subject: userId, about: { userId }, address });
  return linkUrl(deps.settings, "reset", token);
}

/** Nobody signs in as this user any more, and all their sessions end. Answers the sessions, under which nothing may be answered. Throws Rejected. */
export async function disableUser(
  deps: Dependencies,
  email: string,
  cause: Cause,
): Promise<{ person: Person; ended: readonly string[] }> {
  const person = await userOf(deps, email);
  // First, so that none is started behind the end of those that there are.
  await deps.users.handle(person.userId, { type: "DisableUser" }, cause);
  const ended = await deps.accounts.sessions.endAll(person.userId);
  if (ended.length > 0) {
    await deps.users.handle(person.userId, { type: "RecordSessionsEnded", because: "disabled" }, cause);
  }
  return { person: { ...person, disabled: true }, ended };
}

/** They sign in again, with the password that they had. Throws Rejected. */
export async function enableUser(deps: Dependencies, email: string, cause: Cause): Promise<Person> {
  const person = await userOf(deps, email);
  await deps.users.handle(person.userId, { type: "EnableUser" }, cause);
  return { ...person, disabled: false };
}

async function userOf(deps: Dependencies, email: string): Promise<Person> {
  const person = await personOf(deps, email);
  if (!person) throw new Rejected("not_found", `nobody signs in with ${email}`);
  return person;
}
