import { apiKeyRoutes } from "./apiKeys.ts";
import { assistantRoutes } from "./assistants.ts";
import { attachmentDownloadRoutes } from "./attachments/attachmentDownload.ts";
import { billingRoutes } from "./billing.ts";
import { contactRoutes } from "./contacts.ts";
import { answeredFrom, type HttpDependencies } from "./dependencies.ts";
import { domainRoutes } from "./domains.ts";
import { draftHistoryRoutes } from "./drafts/draftHistories.ts";
import { draftRoutes } from "./drafts/drafts.ts";
import type { peoplesRoutes } from "./drafts/peoplesDecisions.ts";
import { emailRoutes } from "./emails.ts";
import { eventRoutes } from "./events/events.ts";
import { identityRoutes } from "./identities.ts";
import { inboundRoutes } from "./inbound.ts";
import { memberRoutes } from "./members.ts";
import { messageRoutes } from "./messages.ts";
import { ruleRoutes } from "./rules.ts";
import { taskRoutes } from "./tasks.ts";
import { threadRoutes } from "./threads.ts";
import { webhookRoutes } from "./webhooks.ts";
import { workspaceRoutes } from "./workspaces.ts";

/** All routes of the service. */
export const allRoutes = (deps: HttpDependencies) => [
  ...answeredFrom(deps, ["apiKeys"], apiKeyRoutes),
  ...answeredFrom(deps, ["workspaces"], workspaceRoutes),
  ...answeredFrom(deps, ["members"], memberRoutes),
  ...answeredFrom(deps, ["domains", "workspaces"], domainRoutes),
  ...answeredFrom(deps, ["identities"], identityRoutes),
  ...answeredFrom(deps, ["threads", "messages", "drafts", "identities"], threadRoutes),
  ...answeredFrom(deps, ["messages", "inbound"], messageRoutes),
  ...answeredFrom(deps, ["messages"], attachmentDownloadRoutes),
  ...answeredFrom(deps, ["drafts", "threads", "messages", "identities"], draftRoutes),
  ...answeredFrom(deps, ["drafts", "messages"], draftHistoryRoutes),
  ...answeredFrom(deps, ["inbound", "messages"], inboundRoutes),
  ...answeredFrom(deps, ["domains", "identities", "rules"], billingRoutes),
  ...answeredFrom(deps, ["rules"], ruleRoutes),
  ...answeredFrom(deps, ["drafts", "threads", "messages", "identities"], emailRoutes),
  ...answeredFrom(deps, ["drafts", "messages", "identities"], taskRoutes),
  ...answeredFrom(deps, ["contacts"], contactRoutes),
  ...answeredFrom(deps, ["assistants", "identities", "rules"], assistantRoutes),
  ...answeredFrom(deps, ["feed"], eventRoutes),
  ...answeredFrom(deps, ["webhooks"], webhookRoutes),
];

type Declared = ReturnType<typeof allRoutes>[number] | ReturnType<typeof peoplesRoutes>[number];

/** The answer type of each route by its line, from the schema that checks it. */
export type Answers = { [R in Declared as R["line"]]: R extends { answer?: infer A } ? A : never };

/** An item of a list route's answer. */
export type Item<L extends keyof Answers> = Answers[L] extends { data: (infer I)[] } ? I : never;
