import type { AuditFields } from "../auditFields.ts";
import { inboxFields } from "../inbox/auditFields.ts";
import type { ApprovalReplyEvent } from "./events.ts";

export const approvalReplyFields: AuditFields<ApprovalReplyEvent> = inboxFields;
