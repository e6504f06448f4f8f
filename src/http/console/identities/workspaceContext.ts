import type { Answers, ListItem } from "../../routes.ts";
import type { PageContext } from "../framework/pageContext.ts";
import type { IdentityContext } from "./story.ts";

export type IdentityAnswer = Answers["GET /v1/identities/:identity_id"];
export type DomainChoice = Pick<
  ListItem<"GET /v1/domains">,
  "id" | "domain_name" | "inbound_subdomain" | "sandbox" | "status"
>;
export type AssistantChoice = Pick<ListItem<"GET /v1/assistants">, "id" | "name" | "status">;

/** Data of the workspace that identity pages need, as far as the reader may see it. */
export type WorkspaceContext = {
  domains: readonly DomainChoice[];
  assistants: readonly AssistantChoice[];
  workspace: IdentityContext["workspace"];
  /** Notification state by identity id: that of the identity's newest draft that has one. */
  notified: ReadonlyMap<string, NonNullable<IdentityContext["notified"]>>;
};

/** Number of newest drafts that are searched for notification states. */
const newest = 20;

/** Reads this data from the routes. With `identityId`, only drafts of that identity are searched for a notification state. */
export async function readWorkspaceContext(context: PageContext, identityId?: string): Promise<WorkspaceContext> {
  const [domains, assistants, workspace, drafts] = await Promise.all([
    context.may("read:domains") ? context.ask("GET /v1/domains", { query: { limit: 100 } }) : none,
    context.may("read:assistants") ? context.ask("GET /v1/assistants", { query: { limit: 100 } }) : none,
    context.may("read:workspace") ? context.ask("GET /v1/workspaces/me") : undefined,
    context.may("read:threads")
      ? context.ask("GET /v1/drafts", { query: { limit: newest, identity_id: identityId } })
      : none,
  ]);
  const notified = new Map<string, NonNullable<IdentityContext["notified"]>>();
  for (const { identity_id, notification_status } of drafts.data) {
    if (notification_status.state !== "none" && !notified.has(identity_id)) {
      notified.set(identity_id, notification_status);
    }
  }
  return { domains: domains.data, assistants: assistants.data, workspace, notified };
}

const none = { data: [] };

/** Selects the workspace's data that concerns one identity. */
export function identityContextOf(
  { domains, assistants, workspace, notified }: WorkspaceContext,
  { id, domain_id, assistant_id }: Pick<IdentityAnswer, "id" | "domain_id" | "assistant_id">,
): IdentityContext {
  const domain = domains.find((each) => each.id === domain_id);
  return {
    domain: domain && { id: domain.id, name: mailDomainOf(domain), status: domain.status },
    assistant: assistants.find((each) => each.id === assistant_id),
    workspace,
    notified: notified.get(id),
  };
}

/** The part after the @ of the addresses of a domain. */
export const mailDomainOf = ({ domain_name, inbound_subdomain }: DomainChoice): string =>
  inbound_subdomain === null ? domain_name : `${inbound_subdomain}.${domain_name}`;
