import { readEvents } from "#src/eventStore/eventStore.ts";
import { mailboxOf } from "#src/mail/out/quota/notificationQuota.ts";
import type { Vote } from "#streams/draft/draft.ts";
import type { ApprovalRequest } from "#streams/draft/events.ts";
import { isSamePerson, keysVoter, linkVoter, type Voting } from "#streams/draft/quorum.ts";
import type { Actor } from "#streams/event.ts";
import type { Identity } from "#streams/identity/decider.ts";
import { activeMember } from "#streams/member/decider.ts";
import type { Role } from "#streams/member/roles.ts";
import { type UserEvent, userStream } from "#streams/user/events.ts";
import type { Dependencies } from "../dependencies.ts";
import { addressHash } from "../identities/addresses.ts";
import { accountsOfMembers } from "../members/accountsOf.ts";
import { requiresHuman } from "./humanApproval.ts";

type Voter = Pick<Voting, "voter" | "place">;

/** Roles whose approvals count. */
export const approverRoles: readonly Role[] = ["owner", "admin", "approver"];

/**
 * Returns the voter that an actor counts as: a chat user, a mailbox, a signed-in user, or all API keys together. A link in a chat
 * identifies no person, so all people who use links in chats of one kind count as one voter. `channel`: the channel that the actor used;
 * null if none.
 */
export function voterOf({ kind, id }: Pick<Actor, "kind" | "id">, channel: ApprovalRequest["channel"] | null): Voter {
  const place = channel === null || channel.type === "email" ? null : placeOf(channel);
  if (kind === "api_key") return { voter: keysVoter, place: null };
  if (kind === "email_link") return { voter: place === null ? mailboxVoter(id) : linkVoter(place), place };
  return { voter: kind === "session" ? userVoter(id) : `${kind}:${id}`, place };
}

const userVoter = (userId: string): string => `session:${userId}`;

/**
 * Returns the other voter names of the same person: for a user, their present and former mailboxes; for a mailbox, its user. A person
 * therefore cannot count twice by signing in and also using a mail's link, or by changing their address in between.
 */
async function otherNames(
  deps: Pick<Dependencies, "store" | "userEmails">,
  { kind, id, email }: Pick<Actor, "kind" | "id" | "email">,
  { voter }: Voter,
): Promise<string[]> {
  if (kind === "session")
    return withoutRepeats([...(email ? [mailboxVoter(email)] : []), ...(await mailboxesOf(deps, id))]);
  if (kind !== "email_link" || voter !== mailboxVoter(id)) return [];
  const userIds = await Promise.all([id, mailboxOf(id)].map((address) => userIdOf(deps, address)));
  const users = withoutRepeats(userIds.flatMap((userId) => userId ?? []));
  const mailboxes = await Promise.all(users.map((userId) => mailboxesOf(deps, userId)));
  return withoutRepeats([...users.map(userVoter), ...mailboxes.flat()]).filter((name) => name !== voter);
}

const withoutRepeats = (names: readonly string[]): string[] => [...new Set(names)];

const userIdOf = async (deps: Pick<Dependencies, "userEmails">, address: string): Promise<string | null> =>
  (await deps.userEmails.load(addressHash(address))).state.userId;

/** Returns every mailbox that a user ever signed in with. */
async function mailboxesOf(deps: Pick<Dependencies, "store">, userId: string): Promise<string[]> {
  const events = await readEvents<UserEvent>(deps.store, userStream(userId));
  return events.flatMap(({ type, data }) =>
    type === "UserRegistered" || type === "UserEmailChanged" ? [mailboxVoter(data.email)] : [],
  );
}

/** Returns the signed-in voters who may no longer decide in this workspace, because of their role or because the operator disabled them. */
export async function lapsedVoters(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
  voters: readonly string[],
): Promise<string[]> {
  const signedIn = voters.filter((voter) => voter.startsWith(userVoter("")));
  if (signedIn.length === 0) return [];
  const { state } = await deps.members.load(workspaceId);
  const mayDecide = async (voter: string): Promise<boolean> => {
    const userId = voter.slice(userVoter("").length);
    const member = activeMember(state, userId);
    if (member === undefined || !approverRoles.includes(member.role)) return false;
    return !(await deps.users.load(userId)).state.disabled;
  };
  const judged = await Promise.all(signedIn.map(mayDecide));
  return signedIn.filter((_, index) => !judged[index]);
}

/** Returns the workspace's members who may approve and can sign in, as mailbox voters. */
export async function memberVoters(
  deps: Pick<Dependencies, "members" | "users">,
  workspaceId: string,
): Promise<string[]> {
  const members = await accountsOfMembers(deps, workspaceId, ({ role }) => approverRoles.includes(role));
  return members.flatMap(({ member, user }) => (user.disabled ? [] : [mailboxVoter(member.email)]));
}

/** Returns the voter name of a mailbox. Different spellings and tags of an address count as the same person. */
const mailboxVoter = (address: string): string => `mailbox:${mailboxOf(address)}`;

/** Returns true if the person of this mailbox has approved the version and further approvals are still missing. */
export const hasApproved = ({ votes }: { votes: readonly Vote[] }, address: string): boolean =>
  votes.some((vote) => isSamePerson(vote, { voter: mailboxVoter(address) }));

const placeOf = ({ type, address }: ApprovalRequest["channel"]): string => `${type} ${address}`;

/** Returns the number of approvals an identity requires now, and if the API keys' approval counts as one. */
export async function quorumOf(
  deps: Pick<Dependencies, "workspaces">,
  identity: Identity,
): Promise<Pick<Voting, "required" | "keysCount">> {
  const required = identity.approvalsRequired;
  // If one approval is enough, the approval of an API key always counts; other checks say if the key may decide at all.
  return { required, keysCount: required === 1 || !(await requiresHuman(deps, identity)) };
}

/** Returns a person's names as used by a draft's votes. */
export async function voterNames(
  deps: Pick<Dependencies, "store" | "userEmails">,
  actor: Actor,
  channel: ApprovalRequest["channel"] | null,
): Promise<Voter & Pick<Voting, "also">> {
  const voter = voterOf(actor, channel);
  return { ...voter, also: await otherNames(deps, actor, voter) };
}

/**
 * Returns an approval in the form that the draft's stream counts. `channel`: the channel that the approver used; null if none. `votes`: the
 * draft's votes so far.
 */
export async function toVote(
  deps: Pick<Dependencies, "workspaces" | "members" | "users" | "store" | "userEmails">,
  identity: Identity,
  { actor, channel, votes }: { actor: Actor; channel: ApprovalRequest["channel"] | null; votes: readonly Vote[] },
): Promise<Voting> {
  const quorum = await quorumOf(deps, identity);
  // If one approval is enough, other names do not matter.
  if (quorum.required === 1) return { ...voterOf(actor, channel), ...quorum };
  const names = await voterNames(deps, actor, channel);
  const voters = votes.map(({ voter }) => voter);
  return { ...names, ...quorum, lapsed: await lapsedVoters(deps, identity.workspaceId, voters) };
}
