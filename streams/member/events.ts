import type { Event } from "../event.ts";
import type { Role } from "./roles.ts";

/**
 * The people of a workspace, invited and active. They share one stream, because "one owner stays" is a rule over all of them. Who invited,
 * changed or removed is in the event's metadata. Times are ISO 8601 UTC.
 */
export type MemberEvent =
  /** `email`: as it was written; only who has that address may accept. */
  | Event<"MemberInvited", { memberId: string; email: string; role: Role; expiresAt: string }>
  /** The invitation was sent again: the link before it is no longer good. */
  | Event<"InvitationRenewed", { memberId: string; expiresAt: string }>
  | Event<"InvitationAccepted", { memberId: string; userId: string }>
  /** A member without an invitation to an address: the founder of a workspace, or its first owner. */
  | Event<"MemberJoined", { memberId: string; userId: string; email: string; role: Role }>
  | Event<"MemberRoleChanged", { memberId: string; role: Role }>
  /** Of an invited one: the invitation is withdrawn. */
  | Event<"MemberRemoved", { memberId: string }>;

/** One stream for each workspace. */
export const memberStream = (workspaceId: string): string => `member-${workspaceId}`;
