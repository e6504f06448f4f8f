import { domainById, listDomains } from "#projections/domains/queries.ts";
import type { Cursor, Window } from "#projections/page.ts";
import { workspaceById } from "#projections/workspaces/queries.ts";
import { createDomain, deleteDomain, requestCheck } from "#src/commands/domains/domains.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { presentDomain, presentSandbox, type WireDomain } from "./present/domains.ts";
import { Deleted } from "./schemas/common.ts";
import { CreateDomain, Domain, DomainList, DomainQuery } from "./schemas/domains.ts";

/** Routes for a workspace's domains: the sandbox domain, which needs no DNS, and its own domains. */
export function domainRoutes(deps: HttpDependencies) {
  type OfDomain = { workspaceId: string; params: { domain_id: string } };
  const find = ({ workspaceId, params }: OfDomain) => domainOf(deps, workspaceId, params.domain_id);

  async function shownAfter(position: number, workspaceId: string, id: string) {
    await deps.readAfter(position, id);
    return domainOf(deps, workspaceId, id);
  }

  return [
    route(
      "POST /v1/domains",
      {
        scope: "write:domains",
        limit: "write",
        summary: "Add a domain",
        description:
          "Add the dns_records of the response at the domain's DNS provider. The service checks them immediately, then every 30 seconds. With inbound_subdomain, mail goes to that subdomain, and the domain's own mail is not affected.",
        body: CreateDomain,
        answers: Domain,
        errors: ["plan_limit_reached"],
        conflict: "the name is already in this workspace, verified in another workspace, or the service's own",
      },
      async ({ workspaceId, body, cause }) => {
        const { domain_name: domainName, inbound_subdomain: inboundSubdomain = null } = body;
        const { domainId, position } = await createDomain(deps, { workspaceId, domainName, inboundSubdomain }, cause);
        return shownAfter(position, workspaceId, domainId);
      },
    ),

    listRoute(
      "GET /v1/domains",
      {
        scope: "read:domains",
        limit: "read",
        summary: "List domains: the sandbox domain first, then the newest",
        query: DomainQuery,
        answers: DomainList,
        cursors: deps.cursors,
      },
      ({ workspaceId, query }) => listed(deps, workspaceId, query),
    ),

    route(
      "GET /v1/domains/:domain_id",
      {
        scope: "read:domains",
        limit: "read",
        summary: "Read a domain with its DNS records",
        answers: Domain,
        load: find,
      },
      async ({ loaded }) => loaded,
    ),

    route(
      "POST /v1/domains/:domain_id/verify",
      {
        scope: "write:domains",
        limit: "send",
        summary: "Check a domain's DNS records now",
        description:
          "The check runs in the background: read the domain again for the result. A failed domain becomes pending again.",
        answers: Domain,
        load: find,
      },
      async ({ workspaceId, params, loaded, cause }) => {
        if (loaded.sandbox) return loaded;
        const domainId = params.domain_id;
        const { position } = await requestCheck(deps, { workspaceId, domainId }, cause);
        return shownAfter(position, workspaceId, domainId);
      },
    ),

    route(
      "DELETE /v1/domains/:domain_id",
      {
        scope: "write:domains",
        limit: "write",
        summary: "Delete a domain",
        description: "A domain can be deleted only when it has no identities: otherwise 409 invalid_request.",
        answers: Deleted,
        conflict: "the domain has identities, or is the sandbox domain",
        load: find,
      },
      async ({ workspaceId, params, loaded, cause }) => {
        if (loaded.sandbox) {
          throw new Rejected("invalid_request", "the sandbox domain belongs to every workspace and cannot be deleted", {
            conflict: true,
          });
        }
        const domainId = params.domain_id;
        const { position } = await deleteDomain(deps, { workspaceId, domainId }, cause);
        await deps.readAfter(position, domainId);
        return { id: domainId, deleted: true };
      },
    ),
  ];
}

async function domainOf(deps: HttpDependencies, workspaceId: string, id: string): Promise<WireDomain | undefined> {
  if (id === sandboxDomainId(workspaceId)) return sandboxOf(deps, workspaceId);
  const row = await domainById(deps.reads, workspaceId, id);
  return row && presentDomain(row, deps.settings);
}

async function sandboxOf(deps: HttpDependencies, workspaceId: string): Promise<WireDomain | undefined> {
  const { sandboxDomain } = deps.settings;
  if (sandboxDomain === null) return undefined;
  const workspace = await workspaceById(deps.reads, workspaceId);
  return workspace && presentSandbox(workspace, sandboxDomainId(workspaceId), sandboxDomain);
}

/** Cursor position before all stored domains, in the order of the list. */
const placeOfSandbox: Cursor = ["infinity", "ffffffff-ffff-ffff-ffff-ffffffffffff"];

async function listed(deps: HttpDependencies, workspaceId: string, { limit, offset, after }: Window) {
  const sandbox = await sandboxOf(deps, workspaceId);
  const shown = sandbox && offset === 0 && after === undefined ? [sandbox] : [];
  const rest = { limit: limit - shown.length, offset: sandbox ? Math.max(0, offset - 1) : offset, after };
  const rows = await listDomains(deps.reads, workspaceId, rest);
  const data = [...shown, ...rows.data.map((row) => presentDomain(row, deps.settings))];
  const isFull = rest.limit === 0 && rows.total > 0;
  return { data, total: rows.total + (sandbox ? 1 : 0), limit, offset, next: isFull ? placeOfSandbox : rows.next };
}
