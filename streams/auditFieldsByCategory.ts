import { answeredAddressFields } from "./answeredAddress/auditFields.ts";
import { apiKeyFields } from "./apiKey/auditFields.ts";
import { approvalReplyFields } from "./approvalReply/auditFields.ts";
import { assistantFields } from "./assistant/auditFields.ts";
import { auditEpochFields } from "./auditEpoch/auditFields.ts";
import type { AuditField } from "./auditFields.ts";
import { billingFields } from "./billing/auditFields.ts";
import { channelTestFields } from "./channelTest/auditFields.ts";
import { contactFields } from "./contact/auditFields.ts";
import { deliveryFields } from "./delivery/auditFields.ts";
import { domainFields } from "./domain/auditFields.ts";
import { domainNameFields } from "./domainName/auditFields.ts";
import { draftFields } from "./draft/auditFields.ts";
import { emailAddressFields } from "./emailAddress/auditFields.ts";
import { filingFields } from "./filing/auditFields.ts";
import { identityFields } from "./identity/auditFields.ts";
import { inboxFields } from "./inbox/auditFields.ts";
import { installationFields } from "./installation/auditFields.ts";
import { memberFields } from "./member/auditFields.ts";
import { processorCustomerFields } from "./processorCustomer/auditFields.ts";
import { quotaFields } from "./quota/auditFields.ts";
import { ruleFields } from "./rule/auditFields.ts";
import { ruleRunFields } from "./ruleRun/auditFields.ts";
import { serviceMailFields } from "./serviceMail/auditFields.ts";
import { slotsFields } from "./slots/auditFields.ts";
import { strayMailFields } from "./strayMail/auditFields.ts";
import { threadFields } from "./thread/auditFields.ts";
import { userFields } from "./user/auditFields.ts";
import { userEmailFields } from "./userEmail/auditFields.ts";
import { webhookFields } from "./webhook/auditFields.ts";
import { workspaceFields } from "./workspace/auditFields.ts";

/** Categories whose streams are named by what can be computed from an address or a domain: an entry shows a digest instead. */
export const concealedStreams: ReadonlySet<string> = new Set([
  "answeredAddress",
  "contact",
  "domainName",
  "emailAddress",
  "serviceMail",
  "userEmail",
]);

/** The audit fields of every category of streams. */
export const auditFieldsByCategory: { readonly [category: string]: { readonly [name: string]: AuditField } } = {
  answeredAddress: answeredAddressFields,
  apiKey: apiKeyFields,
  approvalReply: approvalReplyFields,
  assistant: assistantFields,
  auditEpoch: auditEpochFields,
  billing: billingFields,
  channelTest: channelTestFields,
  contact: contactFields,
  delivery: deliveryFields,
  domain: domainFields,
  domainName: domainNameFields,
  draft: draftFields,
  emailAddress: emailAddressFields,
  filing: filingFields,
  identity: identityFields,
  inbox: inboxFields,
  installation: installationFields,
  member: memberFields,
  processorCustomer: processorCustomerFields,
  quota: quotaFields,
  rule: ruleFields,
  ruleRun: ruleRunFields,
  serviceMail: serviceMailFields,
  slots: slotsFields,
  strayMail: strayMailFields,
  thread: threadFields,
  user: userFields,
  userEmail: userEmailFields,
  webhook: webhookFields,
  workspace: workspaceFields,
};
