import type { Issued } from "#src/platform/accounts/sessions.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import { accountLetterTexts, linkUrl } from "./accountLetterTexts.ts";
import { requireGoodPassword } from "./passwordRules.ts";
import { endSessions, type SignedIn } from "./signIn.ts";
import {
  causeOfLink,
  causeOfPerson,
  personById,
  personOf,
  type RequestOrigin,
  type UserAccount,
  withLink,
} from "./users.ts";

type ResetLink = { userId: string };

/** A signed-in person entered a wrong password: another person at the browser may be guessing. */
export class WrongPassword extends Rejected {
  override readonly name = "WrongPassword";
  constructor(field: string) {
    super("invalid_request", `${field}: that password is not right`, { field });
  }
}

/** Mails a link for a new password if the address has an account, without revealing whether it has. Throws Rejected rate_limited. */
export async function forgotPassword(deps: Dependencies, { email }: { email: string }): Promise<void> {
  await deps.accountMail.admit("reset", email);
  deps.accountMail.later(async () => {
    const person = await personOf(deps, email);
    if (!person || person.disabled) return undefined;
    const { userId, email: address } = person;
    const token = await deps.accounts.links.issue({ kind: "reset", subject: userId, about: { userId }, address });
    return accountLetterTexts.reset(address, linkUrl(deps.settings, "reset", token));
  });
}

/** Returns the address of the account that a link resets. Throws Rejected invalid_request for an invalid link. */
export async function findReset(deps: Dependencies, token: string): Promise<{ email: string }> {
  const { about } = await withLink(() => deps.accounts.links.find<ResetLink>("reset", token));
  return { email: (await resetOf(deps, about)).email };
}

/** Sets a new password, ends all sessions and returns their ids. Throws Rejected invalid_request: the password, the link. */
export async function resetPassword(
  deps: Dependencies,
  { token, password }: { token: string; password: string },
  by: RequestOrigin,
): Promise<{ ended: string[] }> {
  requireGoodPassword(password, await findReset(deps, token));
  const { links, passwords } = deps.accounts;
  return withLink(() =>
    links.use("reset", token, async ({ about, address }: { about: ResetLink; address: string }) => {
      const person = await resetOf(deps, about);
      await passwords.set(person.userId, password);
      const set = { type: "RecordPassword", because: "reset" } as const;
      await deps.users.handle(person.userId, set, causeOfLink(deps, address, by));
      // An intruder may have requested a change of the address before.
      await links.withdraw("email", person.userId);
      const ended = await endSessions(deps, { person, because: "password_reset" }, by);
      deps.accountMail.later(async () => accountLetterTexts.passwordSet(person.email, deps.settings.publicUrl));
      return { ended };
    }),
  );
}

async function resetOf(deps: Dependencies, { userId }: ResetLink): Promise<UserAccount> {
  const person = await personById(deps, userId);
  if (!person) throw new Error("a link for a new password names no user");
  return person;
}

/**
 * Sets a new password for a person who knows the present one. Ends their other sessions; the present session gets a new token. Returns the
 * ended sessions. Throws WrongPassword, and Rejected invalid_request for an unsuitable new password.
 */
export async function changePassword(
  deps: Dependencies,
  { who, currentPassword, password }: { who: SignedIn; currentPassword: string; password: string },
  by: RequestOrigin,
): Promise<{ issued: Issued | undefined; ended: string[] }> {
  const { person, session } = who;
  requireGoodPassword(password, person);
  await requirePassword(deps, { who, password: currentPassword, field: "current_password" });
  await deps.accounts.passwords.set(person.userId, password);
  const set = { type: "RecordPassword", because: "changed" } as const;
  await deps.users.handle(person.userId, set, causeOfPerson(deps, person, by));
  await deps.accounts.links.withdraw("reset", person.userId);
  // An intruder who knew the old password may have requested a change of the address.
  await deps.accounts.links.withdraw("email", person.userId);
  const others = await endSessions(deps, { person, because: "password_changed", except: session.id }, by);
  deps.accountMail.later(async () => accountLetterTexts.passwordSet(person.email, deps.settings.publicUrl));
  await deps.accounts.sessions.confirmPassword(session.id);
  // The old token becomes invalid, which locks out anyone who copied the cookie.
  return { issued: await deps.accounts.sessions.rotate(session.id, { atOnce: true }), ended: [...others, session.id] };
}

/** Throws WrongPassword, naming this field, if the text is not the person's password. */
export async function requirePassword(
  deps: Dependencies,
  { who, password, field = "password" }: { who: SignedIn; password: string; field?: string },
): Promise<void> {
  if (await deps.accounts.passwords.matches(who.person.userId, password)) return;
  throw new WrongPassword(field);
}
