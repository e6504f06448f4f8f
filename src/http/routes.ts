import { apiKeyRoutes } from "./apiKeys.ts";
import { assistantRoutes } from "./assistants.ts";
import { attachmentDownloadRoutes } from "./attachments/attachmentDownload.ts";
import { evidenceRoutes } from "./audit/evidence.ts";
import { exportRoutes } from "./audit/exports.ts";
import { auditHeadRoutes } from "./audit/heads.ts";
import { auditTileRoutes } from "./audit/tiles.ts";
import { billingRoutes } from "./billing.ts";
import { contactRoutes } from "./contacts.ts";
import { type HttpDependencies, routesAnsweredFrom } from "./dependencies.ts";
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
import { testTaskRoutes } from "./testTasks.ts";
import { threadRoutes } from "./threads.ts";
import { webhookRoutes } from "./webhooks.ts";
import { workspaceRoutes } from "./workspaces.ts";

/** All routes of the service. */
export const allRoutes = (deps: HttpDependencies) => [
  ...routesAnsweredFrom(deps, ["apiKeys"], apiKeyRoutes),
  ...routesAnsweredFrom(deps, ["workspaces"], workspaceRoutes),
  ...routesAnsweredFrom(deps, ["members"], memberRoutes),
  ...routesAnsweredFrom(deps, ["domains", "workspaces"], domainRoutes),
  ...routesAnsweredFrom(deps, ["identities"], identityRoutes),
  ...routesAnsweredFrom(deps, ["threads", "messages", "drafts", "identities"], threadRoutes),
  ...routesAnsweredFrom(deps, ["messages", "inbound"], messageRoutes),
  ...routesAnsweredFrom(deps, ["messages"], attachmentDownloadRoutes),
  ...routesAnsweredFrom(deps, ["drafts", "threads", "messages", "identities"], draftRoutes),
  ...auditTileRoutes(deps),
  ...auditHeadRoutes(deps),
  ...routesAnsweredFrom(deps, ["drafts", "messages"], draftHistoryRoutes),
  ...routesAnsweredFrom(deps, ["drafts", "messages", "auditTree"], evidenceRoutes),
  ...routesAnsweredFrom(deps, ["contacts", "threads", "drafts", "messages", "auditTree"], exportRoutes),
  ...routesAnsweredFrom(deps, ["inbound", "messages"], inboundRoutes),
  ...routesAnsweredFrom(deps, ["domains", "identities", "rules"], billingRoutes),
  ...routesAnsweredFrom(deps, ["rules"], ruleRoutes),
  ...routesAnsweredFrom(deps, ["drafts", "threads", "messages", "identities"], emailRoutes),
  ...routesAnsweredFrom(deps, ["drafts", "messages", "identities"], testTaskRoutes),
  ...routesAnsweredFrom(deps, ["contacts"], contactRoutes),
  ...routesAnsweredFrom(deps, ["assistants", "identities", "rules"], assistantRoutes),
  ...routesAnsweredFrom(deps, ["feed"], eventRoutes),
  ...routesAnsweredFrom(deps, ["webhooks"], webhookRoutes),
];

type Declared = ReturnType<typeof allRoutes>[number] | ReturnType<typeof peoplesRoutes>[number];

/** The answer type of each route by its line, from the schema that checks it. */
export type Answers = { [R in Declared as R["line"]]: R extends { answer?: infer A } ? A : never };

/** An item of a list route's answer. */
export type ListItem<L extends keyof Answers> = Answers[L] extends { data: (infer I)[] } ? I : never;
