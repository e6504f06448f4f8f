import type { AuditFields } from "../auditFields.ts";
import type { MemberEvent } from "./events.ts";

export const memberFields: AuditFields<MemberEvent> = {
  memberId: "open",
  userId: "open",
  role: "open",
  draftMail: "open",
  headMail: "open",
  expiresAt: "open",
  email: "salted",
};
