import Type from "typebox";
import { roles } from "#streams/member/roles.ts";
import { ActorShown, EmailAddress, Envelope, Nullable, Paging, Strict, Timestamp, Uuid } from "./common.ts";

const Role = Type.Enum([...roles], {
  description:
    "owner: everything. admin: everything but billing, API keys, and the owners. approver: reads conversations and decides about drafts. auditor: reads everything and changes nothing.",
});

export const Member = Strict(
  {
    id: Uuid,
    user_id: Nullable(Uuid),
    email: Type.String({ description: "The member's address; of an invitation, the address it was sent to." }),
    name: Nullable(Type.String()),
    role: Role,
    status: Type.Enum(["invited", "active"]),
    invited_by: Nullable(ActorShown),
    created_at: Timestamp,
    expires_at: Nullable(Timestamp),
  },
  { title: "Member" },
);

export const MemberList = Envelope(Member);
export const MemberQuery = Paging;

export const InviteMember = Strict({ email: EmailAddress, role: Role }, { title: "InviteMember" });
export const ChangeMember = Strict({ role: Role }, { title: "ChangeMember" });
