import type { Event } from "../event.ts";
import type { DraftMail } from "./draftMail.ts";
import type { HeadMail } from "./headMail.ts";
import type { Role } from "./roles.ts";

/**
 * Members of a workspace, invited and active. They share one stream, because "one owner stays" is a rule over all of them. The event's
 * metadata says who invited, changed or removed. Times are ISO 8601 UTC.
 */
export type MemberEvent =
  /** `email`: as written; only the owner of that address may accept. */
  | Event<"MemberInvited", { memberId: string; email: string; role: Role; expiresAt: string }>
  /** The invitation was sent again; the earlier link becomes invalid. */
  | Event<"InvitationRenewed", { memberId: string; expiresAt: string }>
  | Event<"InvitationAccepted", { memberId: string; userId: string }>
  /** A member joined without an invitation to an address: the founder of a workspace, or its first owner. */
  | Event<"MemberJoined", { memberId: string; userId: string; email: string; role: Role }>
  /** A member chose how they are mailed about drafts that wait for a decision. */
  | Event<"DraftMailChosen", { memberId: string; draftMail: DraftMail }>
  /** A member chose whether signed heads of the audit tree are mailed to them. */
  | Event<"HeadMailChosen", { memberId: string; headMail: HeadMail }>
  | Event<"MemberRoleChanged", { memberId: string; role: Role }>
  /** A member was removed, or an invitation withdrawn. */
  | Event<"MemberRemoved", { memberId: string }>;

/** One stream for each workspace. */
export const memberStream = (workspaceId: string): string => `member-${workspaceId}`;
