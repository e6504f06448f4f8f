import type { Visit } from "../framework/visit.ts";
import type { ShownIdentity } from "./readForm.ts";
import type { Around, Settings } from "./story.ts";

/** An identity as GET /v1/identities answers it. */
export type Identity = ShownIdentity &
  Settings & {
    domain_id: string;
    assistant_id: string | null;
    display_name: string;
    signature_html: string | null;
    html_removed: { what: string; count: number }[];
    signature_difference: Record<"only_html" | "only_text" | "links_only_html" | "links_only_text", string[]> | null;
    can_send_cold: boolean;
    confirm_code: boolean;
    covered_recipients: string[];
    warnings: string[];
  };

export type Domain = {
  id: string;
  domain_name: string;
  inbound_subdomain: string | null;
  sandbox: boolean;
  status: "pending" | "verified" | "failed";
};
export type Assistant = { id: string; name: string; status: "active" | "disabled" };

/** What the pages of identities know of the workspace around them, as far as the reader may know it. */
export type Surroundings = {
  domains: readonly Domain[];
  assistants: readonly Assistant[];
  workspace: { sending_paused: boolean; require_human_approval: boolean } | undefined;
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
