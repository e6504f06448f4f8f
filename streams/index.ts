import { answeredAddresses } from "./answeredAddress/decider.ts";
import { apiKeys } from "./apiKey/decider.ts";
import { approvalReplies } from "./approvalReply/decider.ts";
import { assistants } from "./assistant/decider.ts";
import { auditEpochs } from "./auditEpoch/decider.ts";
import { billings } from "./billing/decider.ts";
import { channelTests } from "./channelTest/decider.ts";
import { contacts } from "./contact/decider.ts";
import { deliveries } from "./delivery/decider.ts";
import { domains } from "./domain/decider.ts";
import { domainNames } from "./domainName/decider.ts";
import { drafts } from "./draft/decider.ts";
import { emailAddresses } from "./emailAddress/decider.ts";
import { filings } from "./filing/decider.ts";
import { identities } from "./identity/decider.ts";
import { inboxes } from "./inbox/decider.ts";
import { installations } from "./installation/decider.ts";
import { members } from "./member/decider.ts";
import { processorCustomers } from "./processorCustomer/decider.ts";
import { quotas } from "./quota/decider.ts";
import { rules } from "./rule/decider.ts";
import { ruleRuns } from "./ruleRun/decider.ts";
import { serviceMails } from "./serviceMail/decider.ts";
import { slots } from "./slots/decider.ts";
import { strayMails } from "./strayMail/decider.ts";
import { threads } from "./thread/decider.ts";
import { users } from "./user/decider.ts";
import { userEmails } from "./userEmail/decider.ts";
import { webhooks } from "./webhook/decider.ts";
import { workspaces } from "./workspace/decider.ts";

/** Every kind of stream, by its noun. src/commands/handle.ts creates a service of each. */
export const streams = {
  answeredAddresses,
  apiKeys,
  approvalReplies,
  assistants,
  auditEpochs,
  billings,
  channelTests,
  contacts,
  deliveries,
  domains,
  domainNames,
  drafts,
  emailAddresses,
  filings,
  identities,
  inboxes,
  installations,
  members,
  processorCustomers,
  quotas,
  rules,
  ruleRuns,
  serviceMails,
  slots,
  strayMails,
  threads,
  userEmails,
  users,
  webhooks,
  workspaces,
};

export type Streams = typeof streams;
