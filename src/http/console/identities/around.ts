import type { Answers, Item } from "../../routes.ts";
import type { Visit } from "../framework/visit.ts";
import type { Around } from "./story.ts";

export type Identity = Answers["GET /v1/identities/:identity_id"];
export type Domain = Pick<Item<"GET /v1/domains">, "id" | "domain_name" | "inbound_subdomain" | "sandbox" | "status">;
export type Assistant = Pick<Item<"GET /v1/assistants">, "id" | "name" | "status">;

/** What the pages of identities know of the workspace around them, as far as the reader may know it. */
export type Surroundings = {
  domains: readonly Domain[];
  assistants: readonly Assistant[];
  workspace: Around["workspace"];
  /** How the approvers of each identity were reached the last time that they were asked. */
  notified: ReadonlyMap<string, NonNullable<Around["notified"]>>;
};

/** So many drafts are looked at for how approvers were reached. */
const newest = 20;

/** Asks the routes for what is around identities; `identityId`: around this one alone. */
export async function surroundingsOf(visit: Visit, identityId?: string): Promise<Surroundings> {
  const [domains, assistants, workspace, drafts] = await Promise.all([
    visit.may("read:domains") ? visit.ask("GET /v1/domains", { query: { limit: 100 } }) : none,
    visit.may("read:assistants") ? visit.ask("GET /v1/assistants", { query: { limit: 100 } }) : none,
    visit.may("read:workspace") ? visit.ask("GET /v1/workspaces/me") : undefined,
    visit.may("read:threads")
      ? visit.ask("GET /v1/drafts", { query: { limit: newest, identity_id: identityId } })
      : none,
  ]);
  const notified = new Map<string, NonNullable<Around["notified"]>>();
  for (const { identity_id, notification_status } of drafts.data) {
    if (notification_status.state !== "none" && !notified.has(identity_id)) {
      notified.set(identity_id, notification_status);
    }
  }
  return { domains: domains.data, assistants: assistants.data, workspace, notified };
}

const none = { data: [] };

/** What of it concerns one identity. */
export function aroundOf(
  { domains, assistants, workspace, notified }: Surroundings,
  { id, domain_id, assistant_id }: Pick<Identity, "id" | "domain_id" | "assistant_id">,
): Around {
  const domain = domains.find((each) => each.id === domain_id);
  return {
    domain: domain && { id: domain.id, name: mailDomainOf(domain), status: domain.status },
    assistant: assistants.find((each) => each.id === assistant_id),
    workspace,
    notified: notified.get(id),
  };
}

/** The part after the @ of the addresses of a domain. */
export const mailDomainOf = ({ domain_name, inbound_subdomain }: Domain): string =>
  inbound_subdomain === null ? domain_name : `${inbound_subdomain}.${domain_name}`;
