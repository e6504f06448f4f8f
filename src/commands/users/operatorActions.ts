import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { linkUrl } from "./accountLetterTexts.ts";
import { personOf, type UserAccount } from "./users.ts";

/** Creates a password reset link for the operator to hand over. Links mailed earlier become invalid. Throws Rejected. */
export async function resetLink(deps: Dependencies, email: string): Promise<string> {
  const { userId, email: address, disabled } = await userOf(deps, email);
  if (disabled) throw new Rejected("invalid_request", "this user is disabled: enable them first");
  const token = await deps.accounts.links.issue({ kind: "reset", subject: userId, about: { userId }, address });
  return linkUrl(deps.settings, "reset", token);
}

/**
 * Disables sign-in for a user and ends all their sessions. Returns the sessions, under which no request
 * may be answered any more. Throws Rejected.
 */
export async function disableUser(
  deps: Dependencies,
  email: string,
  cause: Cause,
): Promise<{ person: UserAccount; ended: readonly string[] }> {
  const person = await userOf(deps, email);
  // Disable first, so that no session starts after the existing ones are ended.
  await deps.users.handle(person.userId, { type: "DisableUser" }, cause);
  const ended = await deps.accounts.sessions.endAll(person.userId);
  if (ended.length > 0) {
    await deps.users.handle(person.userId, { type: "RecordSessionsEnded", because: "disabled" }, cause);
  }
  return { person: { ...person, disabled: true }, ended };
}

/** Enables a disabled user again; their password is unchanged. Throws Rejected. */
export async function enableUser(deps: Dependencies, email: string, cause: Cause): Promise<UserAccount> {
  const person = await userOf(deps, email);
  await deps.users.handle(person.userId, { type: "EnableUser" }, cause);
  return { ...person, disabled: false };
}

async function userOf(deps: Dependencies, email: string): Promise<UserAccount> {
  const person = await personOf(deps, email);
  if (!person) throw new Rejected("not_found", `no user signs in with ${email}`);
  return person;
}
