import { type Decider, invalidRequest, Rejected } from "../decider.ts";
import { stream } from "../stream.ts";
import { unreachable } from "../unreachable.ts";
import type { DraftMail } from "./draftMail.ts";
import { type MemberEvent, memberStream } from "./events.ts";
import type { HeadMail } from "./headMail.ts";
import type { Role } from "./roles.ts";

/** `userId` is null and `expiresAt` a time while the member is only invited. `email`: the address of the invitation or of joining. */
export type Member = {
  memberId: string;
  userId: string | null;
  email: string;
  role: Role;
  status: "invited" | "active";
  expiresAt: string | null;
  /** Absent: off. */
  draftMail?: DraftMail;
  /** Absent: off. */
  headMail?: HeadMail;
};

/** Current members; a removed member is deleted from it. */
export type Members = { members: readonly Member[] };

/**
 * Issuer of the command: a signed-in user, whose role is checked by the stream itself, so that no command outlives a change of it; an API
 * key, which cannot create or remove owners; or the operator, limited only by the workspace's own rules.
 */
export type Asker = { userId: string } | "api_key" | "operator";

/** `at`: current time, ISO 8601 UTC. */
export type MemberCommand =
  /**
   * Invites an address; one already invited to the same role gets its invitation again. `holder`: the user who has this address now, if
   * any: they may have joined under another address, and another user under this one.
   */
  | {
      type: "InviteMember";
      memberId: string;
      email: string;
      holder: string | null;
      role: Role;
      expiresAt: string;
      by: Asker;
    }
  | { type: "RenewInvitation"; memberId: string; expiresAt: string; by: Asker }
  | { type: "AcceptInvitation"; memberId: string; userId: string; email: string; at: string }
  /** `first`: allowed only while the workspace has no active member. */
  | { type: "JoinMember"; memberId: string; userId: string; email: string; role: Role; first?: boolean }
  | { type: "ChangeRole"; memberId: string; role: Role; by: Asker; disabled?: DisabledUsers }
  /** Members choose for themselves. */
  | { type: "ChooseDraftMail"; userId: string; draftMail: DraftMail }
  | { type: "ChooseHeadMail"; userId: string; headMail: HeadMail }
  | { type: "RemoveMember"; memberId: string; by: Asker; disabled?: DisabledUsers };

/** Owners whom the operator has disabled. An owner who cannot sign in does not count as remaining. */
export type DisabledUsers = readonly string[];

/** Members and open invitations of one workspace, at most. */
export const maxMembers = 200;

/** Returns the active member with this user id; undefined if there is none. */
export const activeMember = ({ members }: Members, userId: string): Member | undefined =>
  members.find((member) => member.status === "active" && member.userId === userId);

/** Returns the member or invitation of an address: its invitation, ignoring case, or the member who has the address now. */
export const memberOrInvitationOf = (
  state: Members,
  { email, holder }: { email: string; holder: string | null },
): Member | undefined => invitationTo(state, email) ?? (holder === null ? undefined : activeMember(state, holder));

const invitationTo = ({ members }: Members, email: string): Member | undefined =>
  members.find((member) => member.status === "invited" && sameAddress(member.email, email));

export const memberById = ({ members }: Members, memberId: string): Member | undefined =>
  members.find((member) => member.memberId === memberId);

function decide(command: MemberCommand, state: Members): MemberEvent[] {
  switch (command.type) {
    case "InviteMember":
      return invite(command, state);
    case "RenewInvitation": {
      const { memberId, expiresAt, by } = command;
      const member = invited(state, memberId);
      requireMayChange(by, state, [member.role]);
      return [{ type: "InvitationRenewed", data: { memberId, expiresAt } }];
    }
    case "AcceptInvitation":
      return accept(command, state);
    case "JoinMember":
      return join(command, state);
    case "ChangeRole": {
      const { memberId, role, by } = command;
      const member = present(state, memberId);
      requireMayChange(by, state, [member.role, role]);
      if (member.role === role) return [];
      if (role !== "owner") requireRemainingOwner(state, member, command.disabled);
      return [{ type: "MemberRoleChanged", data: { memberId, role } }];
    }
    case "ChooseDraftMail": {
      const { userId, draftMail } = command;
      const member = activeMember(state, userId);
      if (member === undefined) throw noSuchMember();
      if ((member.draftMail ?? "off") === draftMail) return [];
      return [{ type: "DraftMailChosen", data: { memberId: member.memberId, draftMail } }];
    }
    case "ChooseHeadMail": {
      const { userId, headMail } = command;
      const member = activeMember(state, userId);
      if (member === undefined) throw noSuchMember();
      if ((member.headMail ?? "off") === headMail) return [];
      return [{ type: "HeadMailChosen", data: { memberId: member.memberId, headMail } }];
    }
    case "RemoveMember": {
      const { memberId, by } = command;
      const member = present(state, memberId);
      if (!isOneself(by, member)) requireMayChange(by, state, [member.role]);
      requireRemainingOwner(state, member, command.disabled);
      return [{ type: "MemberRemoved", data: { memberId } }];
    }
    default:
      return unreachable(command);
  }
}

function invite(command: MemberCommand & { type: "InviteMember" }, state: Members): MemberEvent[] {
  const { memberId, email, role, expiresAt, by } = command;
  requireMayChange(by, state, [role]);
  const there = memberOrInvitationOf(state, command);
  if (there === undefined) {
    requireRoomForMember(state);
    return [{ type: "MemberInvited", data: { memberId, email, role, expiresAt } }];
  }
  if (there.role !== role) {
    const what = there.status === "active" ? "is already a member" : "is already invited";
    throw invalidRequest("role", `this address ${what}, as ${there.role}: change that member's role instead`);
  }
  if (there.status === "active") return [];
  return [{ type: "InvitationRenewed", data: { memberId: there.memberId, expiresAt } }];
}

function accept(command: MemberCommand & { type: "AcceptInvitation" }, state: Members): MemberEvent[] {
  const { memberId, userId, email, at } = command;
  const member = present(state, memberId);
  if (member.status === "active") {
    if (member.userId === userId) return [];
    throw noSuchMember();
  }
  if (!sameAddress(member.email, email)) {
    throw invalidRequest(
      "token",
      "this invitation is for another address: sign in with the address that it was sent to",
    );
  }
  if (member.expiresAt !== null && member.expiresAt <= at) {
    throw invalidRequest("token", "this invitation has expired: ask for a new one");
  }
  if (activeMember(state, userId) !== undefined)
    throw invalidRequest("token", "you are already a member of this workspace");
  return [{ type: "InvitationAccepted", data: { memberId, userId } }];
}

function join(command: MemberCommand & { type: "JoinMember" }, state: Members): MemberEvent[] {
  const { memberId, userId, email, role, first = false } = command;
  if (activeMember(state, userId) !== undefined) return [];
  if (first && state.members.some(({ status }) => status === "active")) {
    throw invalidRequest("token", "this workspace already has an owner: ask them for an invitation");
  }
  // An invited person who joins another way is one member, not two.
  const open = invitationTo(state, email);
  const withdrawn: MemberEvent[] = open ? [{ type: "MemberRemoved", data: { memberId: open.memberId } }] : [];
  if (withdrawn.length === 0) requireRoomForMember(state);
  return [...withdrawn, { type: "MemberJoined", data: { memberId, userId, email, role } }];
}

/** Checks that the caller may change these roles. `touched`: the roles given, changed or taken. Throws Rejected insufficient_scope. */
function requireMayChange(by: Asker, state: Members, touched: readonly Role[]): void {
  if (by === "operator") return;
  const own = by === "api_key" ? "admin" : activeMember(state, by.userId)?.role;
  if (own !== "owner" && own !== "admin") {
    throw new Rejected("insufficient_scope", "only an owner or an admin of the workspace may change its members");
  }
  if (own === "owner" || !touched.includes("owner")) return;
  const who =
    by === "api_key"
      ? "an API key cannot add, change or remove an owner"
      : "an admin cannot add, change or remove an owner";
  throw new Rejected("insufficient_scope", `${who}: ask an owner of the workspace`);
}

const isOneself = (by: Asker, { userId, status }: Member): boolean =>
  typeof by === "object" && status === "active" && by.userId === userId;

/** Checks that an owner remains without this one. Throws Rejected invalid_request if no other owner can sign in, or there is no other. */
function requireRemainingOwner(state: Members, leaving: Member, disabled: DisabledUsers = []): void {
  const owners = ownersOf(state);
  if (!owners.includes(leaving)) return;
  const others = owners.filter((owner) => owner !== leaving);
  if (others.length === 0) {
    throw new Rejected("invalid_request", "this is the workspace's only owner: make another member an owner first");
  }
  const canSignIn = ({ userId }: Member): boolean => userId !== null && !disabled.includes(userId);
  if (canSignIn(leaving) && !others.some(canSignIn)) {
    const sentence = "this is the workspace's only owner who can sign in: make another member an owner first";
    throw new Rejected("invalid_request", sentence);
  }
}

/** Returns the active owners, not those only invited as such. */
const ownersOf = ({ members }: Members): Member[] =>
  members.filter(({ role, status }) => role === "owner" && status === "active");

function requireRoomForMember({ members }: Members): void {
  if (members.length < maxMembers) return;
  const sentence = `this workspace has ${maxMembers} members and invitations, which is the limit: remove one first`;
  throw new Rejected("invalid_request", sentence);
}

function present(state: Members, memberId: string): Member {
  const member = memberById(state, memberId);
  if (member === undefined) throw noSuchMember();
  return member;
}

function invited(state: Members, memberId: string): Member {
  const member = present(state, memberId);
  if (member.status === "invited") return member;
  throw new Rejected("invalid_status", "this member has already accepted the invitation, so it cannot be sent again");
}

const noSuchMember = (): Rejected => new Rejected("not_found", "no such member");

/** Compares addresses ignoring case; tags make a difference. */
const sameAddress = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();

function evolve(state: Members, event: MemberEvent): Members {
  const { memberId } = event.data;
  const others = state.members.filter((member) => member.memberId !== memberId);
  const change = (changed: Partial<Member>): Members => ({
    members: state.members.map((member) => (member.memberId === memberId ? { ...member, ...changed } : member)),
  });
  switch (event.type) {
    case "MemberInvited": {
      const { email, role, expiresAt } = event.data;
      return { members: [...others, { memberId, userId: null, email, role, status: "invited", expiresAt }] };
    }
    case "InvitationRenewed":
      return change({ expiresAt: event.data.expiresAt });
    case "InvitationAccepted":
      return change({ userId: event.data.userId, status: "active", expiresAt: null });
    case "MemberJoined": {
      const { userId, email, role } = event.data;
      return { members: [...others, { memberId, userId, email, role, status: "active", expiresAt: null }] };
    }
    case "DraftMailChosen":
      return change({ draftMail: event.data.draftMail });
    case "HeadMailChosen":
      return change({ headMail: event.data.headMail });
    case "MemberRoleChanged":
      return change({ role: event.data.role });
    case "MemberRemoved":
      return { members: others };
    default:
      return unreachable(event);
  }
}

export const memberDecider: Decider<Members, MemberCommand, MemberEvent> = {
  category: "member",
  initial: { members: [] },
  evolve,
  decide,
};

export const members = stream({ decider: memberDecider, name: memberStream });
