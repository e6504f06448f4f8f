import type { Dependencies } from "../dependencies.ts";
import { letters, linkUrl } from "./letters.ts";
import { requirePassword } from "./passwords.ts";
import { endSessions, type SignedIn } from "./signIn.ts";
import { type By, causeOfLink, causeOfPerson, personById, personOf, userEmailHash, withLink } from "./users.ts";

/** What the link in the mail to a new address leads to. */
type NewEmail = { userId: string; email: string; from: string };

/** Gives the person another name. */
export async function rename(
  deps: Dependencies,
  { who: { person }, name }: { who: SignedIn; name: string | null },
  by: By,
): Promise<{ position: number }> {
  return deps.users.handle(person.userId, { type: "RenameUser", name }, causeOfPerson(deps, person, by));
}

/**
 * Mails a link to the new address, and a warning to the one before. Nothing changes yet, and nobody is told whether the new one has an account.
 * Throws WrongPassword, and Rejected rate_limited.
 */
export async function askForNewEmail(
  deps: Dependencies,
  { who, newEmail, password }: { who: SignedIn; newEmail: string; password: string },
): Promise<void> {
  await requirePassword(deps, { who, password });
  const { userId, email: from } = who.person;
  await deps.accountMail.admit(newEmail);
  const { publicUrl } = deps.settings;
  deps.accountMail.later(async () => {
    const others = await personOf(deps, newEmail);
    if (others && others.userId !== userId) return letters.haveAccount(others.email, publicUrl);
    const about: NewEmail = { userId, email: newEmail, from };
    const token = await deps.accounts.links.issue({ kind: "email", subject: userId, about, address: newEmail });
    return letters.newEmail(newEmail, linkUrl(deps.settings, "new-email", token));
  });
  deps.accountMail.later(async () => letters.emailAsked(from, publicUrl));
}

/** Which address a link is for. Throws Rejected invalid_request for one that is not good. */
export async function findNewEmail(deps: Dependencies, token: string): Promise<{ email: string }> {
  const { address } = await withLink(() => deps.accounts.links.find("email", token));
  return { email: address };
}

/**
 * From now on the user signs in with the new address, and no longer with the one before. All sessions end; answers their ids. Cut off anywhere, the
 * same link goes on with it. Throws Rejected invalid_request: the link, an address that has got an account meanwhile.
 */
export async function useNewEmail(
  deps: Dependencies,
  { token }: { token: string },
  by: By,
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
      // What was mailed to the address before is in hands that may not be the person's any more.
      await links.withdraw("reset", userId);
      const ended = await endSessions(deps, { person: { ...person, email }, because: "email_changed" }, by);
      deps.accountMail.later(async () => letters.emailChanged(from, deps.settings.publicUrl));
      return { ended, position };
    }),
  );
}
