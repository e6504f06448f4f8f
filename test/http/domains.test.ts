import { expect } from "chai";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { type Nouns, sandboxDomain, serveNouns, type Tenant } from "./nounsSupport.ts";

describe("http domains", () => {
  let service: Nouns;
  let tenant: Tenant;
  before(async () => {
    service = await serveNouns();
    tenant = await service.workspace();
  });
  after(() => service.close());

  it("begin with the sandbox domain, verified, under an id of the workspace [4 GET /v1/domains]", async () => {
    const { status, json } = await tenant.ask("GET /v1/domains");
    expect(status).to.equal(200);
    expect(json).to.include({ total: 1, limit: 20, offset: 0 });
    const [domain] = json.data;
    expect(domain).to.include({
      id: sandboxDomainId(tenant.workspaceId),
      workspace_id: tenant.workspaceId,
      domain_name: sandboxDomain,
      sandbox: true,
      status: "verified",
    });
    expect((await tenant.ask(`GET /v1/domains/${domain.id}`)).json).to.deep.equal(domain);
    expect((await tenant.ask("GET /v1/domains?offset=1")).json).to.deep.equal({
      data: [],
      total: 1,
      limit: 20,
      offset: 1,
    });
  });

  it("of another workspace are answered like none", async () => {
    const other = await service.workspace();
    const { json } = await other.ask("GET /v1/domains");
    expect(json.data[0].id).not.to.equal(sandboxDomainId(tenant.workspaceId));
    const ids = [sandboxDomainId(tenant.workspaceId), "0193a0aa-0000-7000-8000-00000000dead", "nonsense"];
    for (const id of ids) {
      const { status, json } = await other.ask(`GET /v1/domains/${id}`);
      expect([status, json.error, json.message]).to.deep.equal([404, "not_found", "no such resource"]);
    }
  });

  it("need their scope, and take no unknown parameter", async () => {
    const narrow = await service.workspace({ scopes: ["read:keys"] });
    expect((await narrow.ask("GET /v1/domains")).json.error).to.equal("insufficient_scope");
    for (const query of ["limit=0", "limit=101", "offset=-1", "status=verified"]) {
      expect((await tenant.ask(`GET /v1/domains?${query}`)).status, query).to.equal(422);
    }
  });
});
