import { cutText } from "#streams/cutText.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import { derivedId } from "../ids.ts";
import { createWorkspace } from "../workspaces.ts";
import { accountLetterTexts, linkUrl } from "./accountLetterTexts.ts";
import { requireGoodPassword } from "./passwordRules.ts";
import {
  causeOfLink,
  personById,
  personOf,
  type RequestOrigin,
  type UserAccount,
  userEmailHash,
  withLink,
} from "./users.ts";

/** Content of a confirmation link. `userId` is drawn when the link is made, so that repeated confirmations create the same user. */
type Confirmation = { userId: string; name: string | null; workspaceName: string | null };

const closed = () =>
  new Rejected("invalid_request", "accounts are by invitation only: ask an owner of your workspace for an invitation");

/**
 * Mails a confirmation link; if the address already has an account, mails a note that says so. The response is the same in both cases.
 * Throws Rejected if sign-up is not open, and rate_limited above the address's hourly quota.
 */
export async function requestSignUp(
  deps: Dependencies,
  { email, name, workspaceName }: { email: string; name: string | null; workspaceName: string | null },
): Promise<void> {
  if (deps.settings.signUp !== "open") throw closed();
  await deps.accountMail.admit("confirm", email);
  deps.accountMail.later(async () => {
    const person = await personOf(deps, email);
    if (person) return accountLetterTexts.haveAccount(person.email, deps.settings.publicUrl);
    const about: Confirmation = { userId: deps.ids.uuid(), name, workspaceName };
    const token = await deps.accounts.links.issue({
      kind: "confirm",
      subject: email.toLowerCase(),
      about,
      address: email,
    });
    return accountLetterTexts.confirm(email, linkUrl(deps.settings, "confirm", token));
  });
}

/** Returns the address a confirmation link was mailed to. Throws Rejected invalid_request for an invalid link. */
export async function findConfirmation(deps: Dependencies, token: string): Promise<{ email: string }> {
  const { address } = await withLink(() => deps.accounts.links.find("confirm", token));
  return { email: address };
}

/**
 * Creates the user whose address the link proves, and a workspace that they own. If it is interrupted, the same link continues it. Throws
 * Rejected invalid_request for an unsuitable password, an invalid link, or an address that has an account by now.
 */
export async function confirmSignUp(
  deps: Dependencies,
  { token, password }: { token: string; password: string },
  by: RequestOrigin,
): Promise<{ person: UserAccount; workspaceId: string; position: number }> {
  if (deps.settings.signUp !== "open") throw closed();
  const { email } = await findConfirmation(deps, token);
  requireGoodPassword(password, { email });
  const { links } = deps.accounts;
  return withLink(() =>
    links.use("confirm", token, async ({ about, address }: { about: Confirmation; address: string }) => {
      const cause = causeOfLink(deps, address, by);
      const { userId, name, workspaceName } = about;
      const person = await createUser(deps, { userId, email: address, name, password }, cause);
      const workspace = await firstWorkspace(deps, { person, name: workspaceName }, cause);
      return { person, ...workspace };
    }),
  );
}

type NewUser = {
  userId: string;
  email: string;
  name: string | null;
  password: string;
  /** True if the person entered the address themselves, without proof. */
  unconfirmed?: boolean;
};

/**
 * Creates a user for a person who has proven to read mail at the address, or whom the operator allows to enter one. An earlier run may have
 * been interrupted, so each step detects what exists. Throws Rejected invalid_request if the address has another account.
 */
export async function createUser(
  deps: Dependencies,
  { email, name, password, unconfirmed = false, ...drawn }: NewUser,
  cause: Cause,
): Promise<UserAccount> {
  const { state } = await deps.userEmails.load(userEmailHash(email));
  // If the address was claimed for a user that was never completed, continue with that user.
  const begun = state.userId !== null && (await personById(deps, state.userId)) === undefined;
  const userId = begun ? (state.userId as string) : drawn.userId;
  await deps.userEmails.handle(userEmailHash(email), { type: "ClaimUserEmail", userId, email }, cause);
  const { state: user } = await deps.users.handle(userId, { type: "RegisterUser", email, name, unconfirmed }, cause);
  await deps.accounts.passwords.set(userId, password);
  await deps.users.handle(userId, { type: "RecordPassword", because: "registered" }, cause);
  return { userId, email: user.email ?? email, name: user.name, disabled: user.disabled };
}

/** Creates the first workspace of a person who was not invited. A repetition creates no second one. */
function firstWorkspace(
  deps: Dependencies,
  { person, name }: { person: UserAccount; name: string | null },
  cause: Cause,
): Promise<{ workspaceId: string; position: number }> {
  const workspaceId = derivedId("first workspace", person.userId);
  return createOwnedWorkspace(deps, { workspaceId, name: name ?? defaultName(person), person }, cause);
}

const defaultName = ({ name }: UserAccount): string =>
  name === null ? "My workspace" : `${cutText(name, 80)}'s workspace`;

/** Creates a workspace on the free plan, owned by this person. Throws Rejected. */
export async function createOwnedWorkspace(
  deps: Dependencies,
  { workspaceId, name, person }: { workspaceId: string; name: string; person: UserAccount },
  cause: Cause,
): Promise<{ workspaceId: string; position: number }> {
  const { userId, email } = person;
  const within = { ...cause, workspaceId };
  await createWorkspace(deps, { workspaceId, name, plan: "builder_pack", betaOverride: false }, within);
  const memberId = derivedId("founder", workspaceId, userId);
  const join = { type: "JoinMember", memberId, userId, email, role: "owner", first: true } as const;
  const { position } = await deps.members.handle(workspaceId, join, within);
  return { workspaceId, position };
}
