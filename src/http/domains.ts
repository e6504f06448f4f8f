import { workspaceById } from "#projections/workspaces/queries.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { type Route, route } from "./route.ts";
import { Domain, DomainList, DomainQuery } from "./schemas/domains.ts";

/** The domains a workspace can send from: today the sandbox domain alone, which needs no DNS. */
export const domainRoutes = (deps: HttpDependencies): Route[] => [
  route(
    "GET /v1/domains",
    { scope: "read:domains", limit: "read", summary: "List domains", query: DomainQuery, answers: DomainList },
    async ({ workspaceId, query: { limit, offset } }) => {
      const all = await domainsOf(deps, workspaceId);
      return { data: all.slice(offset, offset + limit), total: all.length, limit, offset };
    },
  ),

  route(
    "GET /v1/domains/:domain_id",
    {
      scope: "read:domains",
      limit: "read",
      summary: "Read a domain with its DNS records",
      answers: Domain,
      load: async ({ workspaceId, params }) =>
        (await domainsOf(deps, workspaceId)).find(({ id }) => id === params.domain_id),
    },
    async ({ loaded }) => loaded,
  ),
];

/** The sandbox domain stands verified in every workspace from the start, under an id of that workspace (decisions 7). */
async function domainsOf(deps: HttpDependencies, workspaceId: string) {
  const { sandboxDomain } = deps.settings;
  const workspace = await workspaceById(deps.reads, workspaceId);
  if (sandboxDomain === null || !workspace) return [];
  return [
    {
      id: sandboxDomainId(workspaceId),
      workspace_id: workspaceId,
      domain_name: sandboxDomain,
      sandbox: true,
      status: "verified",
      dkim_status: "verified",
      spf_status: "verified",
      mx_status: "verified",
      ownership_status: "verified",
      verification_token: "",
      has_existing_mx: null,
      recommended_subdomain: null,
      inbound_subdomain: null,
      dns_provider_hint: null,
      verification_last_checked_at: null,
      verification_attempts: null,
      dns_records: [],
      created_at: workspace.created_at,
      verified_at: workspace.created_at,
    },
  ];
}
