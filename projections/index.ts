import { apiKeys } from "./apiKeys/projector.ts";
import { assistants } from "./assistants/projector.ts";
import { auditTree } from "./auditTree/projector.ts";
import { chains } from "./chains/projector.ts";
import { contacts } from "./contacts/projector.ts";
import { domains } from "./domains/projector.ts";
import { drafts } from "./drafts/projector.ts";
import { feed } from "./feed/projector.ts";
import { identities } from "./identities/projector.ts";
import { inbound } from "./inbound/projector.ts";
import { memberRows } from "./members/projector.ts";
import { messages } from "./messages/projector.ts";
import type { ReadModel } from "./names.ts";
import type { Projection } from "./projection.ts";
import { ruleEvaluations } from "./ruleEvaluations/projector.ts";
import { rules } from "./rules/projector.ts";
import { search } from "./search/projector.ts";
import { threads } from "./threads/projector.ts";
import { webhooks } from "./webhooks/projector.ts";
import { workspaces } from "./workspaces/projector.ts";

/** Every read model of the service, by its name. */
export const readModels = {
  workspaces,
  apiKeys,
  members: memberRows,
  domains,
  identities,
  inbound,
  chains,
  threads,
  messages,
  search,
  drafts,
  feed,
  webhooks,
  contacts,
  assistants,
  rules,
  ruleEvaluations,
  auditTree,
} satisfies Record<ReadModel, Projection>;

export const projections: readonly Projection[] = Object.values(readModels);
