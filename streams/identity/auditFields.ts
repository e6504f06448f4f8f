import type { AuditFields } from "../auditFields.ts";
import type { IdentityEvent } from "./events.ts";

const channel = { type: "open", config: "secret" } as const;

const settings = {
  assistantId: "open",
  status: "open",
  approvalChannel: channel,
  secondaryApprovalChannel: channel,
  displayName: "salted",
  replyToEmail: "salted",
  signatureText: "salted",
  signatureHtml: "salted",
  htmlRemoved: "salted",
  aliases: "salted",
  coveredRecipients: "salted",
} as const;

export const identityFields: AuditFields<IdentityEvent> = {
  ...settings,
  workspaceId: "open",
  domainId: "open",
  localPart: "salted",
  emailAddress: "salted",
  changes: settings,
  channels: { approvalChannel: channel, secondaryApprovalChannel: channel },
  from: "salted",
  to: "salted",
};
