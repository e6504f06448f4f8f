import type { Dependencies } from "../dependencies.ts";
import { accountLetterTexts, linkUrl } from "./accountLetterTexts.ts";
import { requirePassword } from "./passwords.ts";
import { endSessions, type SignedIn } from "./signIn.ts";
import {
  causeOfLink,
  causeOfPerson,
  personById,
  personOf,
  type RequestOrigin,
  userEmailHash,
  withLink,
} from "./users.ts";

/** Content of the link mailed to a new address. */
type NewEmail = { userId: string; email: string; from: string };

/** Changes the person's name. */
export async function renameUser(
  deps: Dependencies,
  { who: { person }, name }: { who: SignedIn; name: string | null },
  by: RequestOrigin,
): Promise<{ position: number }> {
  return deps.users.handle(person.userId, { type: "RenameUser", name }, causeOfPerson(deps, person, by));
}

/**
 * Mails a link to the new address, and a warning to the present one. The address changes only when the link is used. The response does not
 * reveal if the new address has an account. Throws WrongPassword, and Rejected rate_limited.
 */
export async function requestNewEmail(
  deps: Dependencies,
  { who, newEmail, password }: { who: SignedIn; newEmail: string; password: string },
): Promise<void> {
  await requirePassword(deps, { who, password });
  const { userId, email: from } = who.person;
  await deps.accountMail.admit("email", newEmail);
  const { publicUrl } = deps.settings;
  deps.accountMail.later(async () => {
    const others = await personOf(deps, newEmail);
    if (others && others.userId !== userId) return accountLetterTexts.haveAccount(others.email, publicUrl);
    const about: NewEmail = { userId, email: newEmail, from };
    const token = await deps.accounts.links.issue({ kind: "email", subject: userId, about, address: newEmail });
    return accountLetterTexts.newEmail(newEmail, linkUrl(deps.settings, "new-email", token));
  });
  deps.accountMail.later(async () => accountLetterTexts.emailAsked(from, publicUrl));
}

/** Returns the address that a link is for. Throws Rejected invalid_request for an invalid link. */
export async function findNewEmail(deps: Dependencies, token: string): Promise<{ email: string }> {
  const { address } = await withLink(() => deps.accounts.links.find("email", token));
  return { email: address };
}

/**
 * Replaces the address with which the user signs in. Ends all their sessions and returns the sessions' ids. If it is interrupted, the same
 * link continues it. Throws Rejected invalid_request for an invalid link, or an address that has an account by now.
 */
export async function useNewEmail(
  deps: Dependencies,
  { token }: { token: string },
  by: RequestOrigin,
): Promise<{ ended: string[]; position: number }> {
  const { links } = deps.accounts;
  return withLink(() =>
    links.use("email", token, async ({ about }: { about: NewEmail }) => {
      const { userId, email, from } = about;
      const person = await personById(deps, userId);
      if (!person) throw new Error("a link for a new address names no user");
      const cause = causeOfLink(deps, email, by);
      const [claimed, left] = [userEmailHash(email), userEmailHash(from)];
      await deps.userEmails.handle(claimed, { type: "ClaimUserEmail", userId, email }, cause);
      const { position } = await deps.users.handle(userId, { type: "ChangeUserEmail", email }, cause);
      if (left !== claimed) await deps.userEmails.handle(left, { type: "ReleaseUserEmail", userId }, cause);
      // Links mailed to the old address may be read by another person now.
      await links.withdraw("reset", userId);
      const ended = await endSessions(deps, { person: { ...person, email }, because: "email_changed" }, by);
      if (left !== claimed)
        deps.accountMail.later(async () => accountLetterTexts.emailChanged(from, deps.settings.publicUrl));
      return { ended, position };
    }),
  );
}
