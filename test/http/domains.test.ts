import { createPublicKey } from "node:crypto";
import { expect } from "chai";
import { dkimKeyOwner } from "#src/commands/domains/domains.ts";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { domainStream } from "#streams/domain/events.ts";
import { type Nouns, sandboxDomain, serveNouns, type Tenant } from "./nounsSupport.ts";

describe("the sandbox domain over HTTP", () => {
  let service: Nouns;
  let tenant: Tenant;
  before(async () => {
    service = await serveNouns();
    tenant = await service.workspace();
  });
  after(() => service.close());

  it("a workspace has the sandbox domain from the start, verified, under an id of its own [4 GET /v1/domains]", async () => {
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
    expect([domain.dns_records, domain.advised_records]).to.deep.equal([[], []]);
    expect((await tenant.ask(`GET /v1/domains/${domain.id}`)).json).to.deep.equal(domain);
    expect((await tenant.ask("GET /v1/domains?offset=1")).json).to.deep.equal({
      data: [],
      total: 1,
      limit: 20,
      offset: 1,
      next_cursor: null,
    });
  });

  it("another workspace's sandbox domain is answered like one that does not exist", async () => {
    const other = await service.workspace();
    const { json } = await other.ask("GET /v1/domains");
    expect(json.data[0].id).not.to.equal(sandboxDomainId(tenant.workspaceId));
    const ids = [sandboxDomainId(tenant.workspaceId), "0193a0aa-0000-7000-8000-00000000dead", "nonsense"];
    for (const id of ids) {
      const { outcome, json } = await other.ask(`GET /v1/domains/${id}`);
      expect([outcome, json.message]).to.deep.equal(["404 not_found", "no such resource"]);
    }
  });

  it("the list of domains needs its scope and refuses unknown parameters", async () => {
    const narrow = await service.workspace({ scopes: ["read:keys"] });
    expect((await narrow.ask("GET /v1/domains")).json.error).to.equal("insufficient_scope");
    for (const query of ["limit=0", "limit=101", "offset=-1", "status=verified"]) {
      expect((await tenant.ask(`GET /v1/domains?${query}`)).status, query).to.equal(422);
    }
  });
});

describe("domains of a workspace over HTTP", () => {
  let service: Nouns;
  let tenant: Tenant;
  let number = 0;
  before(async () => {
    service = await serveNouns();
    tenant = await service.workspace();
  });
  after(() => service.close());

  const name = () => `customer${++number}.example`;
  const add = (json: unknown, of = tenant) => of.ask("POST /v1/domains", { json });

  it("a new domain is pending and shows the five DNS records to publish [4 POST /v1/domains] [4 GET /v1/domains/{id}]", async () => {
    const domain_name = name();
    const { status, json } = await add({ domain_name, inbound_subdomain: "mail" });
    expect(status).to.equal(200);
    expect(json).to.include({
      workspace_id: tenant.workspaceId,
      domain_name,
      inbound_subdomain: "mail",
      sandbox: false,
      status: "pending",
      dkim_status: "pending",
      spf_status: "pending",
      mx_status: "pending",
      ownership_status: "pending",
      has_existing_mx: null,
      recommended_subdomain: null,
      dns_provider_hint: null,
      verification_last_checked_at: null,
      verification_attempts: null,
      verified_at: null,
    });
    const [ownership, spf, dkim, sending, mx] = json.dns_records;
    expect(json.dns_records).to.have.length(5);
    expect(ownership).to.include({ type: "TXT", host: "_service.mail", fqdn: `_service.mail.${domain_name}` });
    expect(ownership).to.include({ value: json.verification_token, priority: null, status: "pending", reason: null });
    expect(spf).to.include({ type: "TXT", host: "mail", value: "v=spf1 a:mx.service.example ~all" });
    expect(dkim.host).to.match(/^[a-z0-9]+\._domainkey\.mail$/);
    expect(sending.host).to.equal("_sending.mail");
    expect(sending.value).not.to.equal(ownership.value);
    expect(mx).to.include({ type: "MX", host: "mail", value: "mx.service.example", priority: 10 });
    const [dmarc] = json.advised_records;
    expect(json.advised_records).to.have.length(1);
    expect(dmarc).to.include({ type: "TXT", host: "_dmarc.mail", fqdn: `_dmarc.mail.${domain_name}`, priority: null });
    expect(dmarc).to.include({ value: "v=DMARC1; p=none", status: "pending", reason: null });
    expect((await tenant.ask(`GET /v1/domains/${json.id}`)).json).to.deep.equal(json);
  });

  it("a domain has a DKIM key of 2048 bits, whose private half is stored sealed and never shown [d7 DKIM key]", async () => {
    const { json } = await add({ domain_name: name() });
    const value: string = json.dns_records[2].value;
    expect(value).to.match(/^v=DKIM1; k=rsa; p=[A-Za-z0-9+/]+=*$/);
    const der = Buffer.from(value.slice(value.indexOf("p=") + 2), "base64");
    const key = createPublicKey({ key: der, format: "der", type: "spki" });
    expect(key.asymmetricKeyDetails).to.include({ modulusLength: 2048 });
    const stored = await service.database.query("select * from domains where id = $1", [json.id]);
    const [event] = await service.store.read(domainStream(json.id));
    const sealed = event?.data.privateKey as string;
    expect(JSON.stringify([json, stored.rows, event])).not.to.match(/PRIVATE KEY/);
    expect(JSON.stringify([json, stored.rows])).not.to.include(sealed);
    const opened = service.deps.keyRing.open(sealed, dkimKeyOwner(tenant.workspaceId));
    expect(createPublicKey(opened).export({ type: "spki", format: "der" }).equals(der)).to.equal(true);
    expect(() => service.deps.keyRing.open(sealed, dkimKeyOwner("another workspace"))).to.throw();
  });

  it("domains are listed page by page, the sandbox domain first, then the newest [4 GET /v1/domains] [8 list limit]", async () => {
    const own = await service.workspace({ beta: true });
    const added: string[] = [];
    for (let n = 0; n < 3; n++) added.unshift((await add({ domain_name: name() }, own)).json.id);
    const all = [sandboxDomainId(own.workspaceId), ...added];
    const list = async (query: string) => (await own.ask(`GET /v1/domains${query}`)).json;
    const ids = (page: any) => page.data.map(({ id }: { id: string }) => id);
    expect(ids(await list(""))).to.deep.equal(all);
    for (const [query, from, to] of [
      ["?limit=1", 0, 1],
      ["?limit=2", 0, 2],
      ["?limit=2&offset=1", 1, 3],
      ["?limit=2&offset=3", 3, 4],
      ["?offset=4", 4, 4],
    ] as const) {
      const page = await list(query);
      expect(ids(page), query).to.deep.equal(all.slice(from, to));
      expect(page.total).to.equal(4);
    }
  });

  it("a domain's name may have capitals, umlauts and a final dot; it is stored as in DNS [d7 names]", async () => {
    const cases: [given: object, name: string, subdomain: string | null][] = [
      [{ domain_name: "BÜCHER.Example." }, "xn--bcher-kva.example", null],
      [{ domain_name: "Shop.Customer.co.uk" }, "shop.customer.co.uk", null],
      [{ domain_name: "full.example", inbound_subdomain: "Mail.Full.Example" }, "full.example", "mail"],
      [{ domain_name: "deep.example", inbound_subdomain: "in.mail" }, "deep.example", "in.mail"],
      [{ domain_name: "nothing.example", inbound_subdomain: null }, "nothing.example", null],
    ];
    const own = await service.workspace({ beta: true });
    for (const [given, domain_name, inbound_subdomain] of cases) {
      const { status, json } = await add(given, own);
      expect(status, json.message).to.equal(200);
      expect(json).to.include({ domain_name, inbound_subdomain });
    }
  });

  it("a name that is no domain, reserved or a public suffix is refused, with the field and the reason", async () => {
    const wrong: [domain_name: unknown, message: RegExp][] = [
      ["", /^domain_name/],
      [7, /^domain_name/],
      [null, /^domain_name/],
      ["localhost", /reserved/],
      ["printer.local", /reserved/],
      ["x.invalid", /reserved/],
      ["com", /public suffix/],
      ["co.uk", /public suffix/],
      ["github.io", /public suffix/],
      ["192.0.2.1", /plain domain name/],
      ["0x7f.1", /plain domain name/],
      ["[::1]", /plain domain name/],
      ["https://customer.example", /without https/],
      ["customer.example/path", /plain domain name/],
      ["ann@customer.example", /plain domain name/],
      ["customer.example:25", /plain domain name/],
      ["_dmarc.customer.example", /plain domain name/],
      ["-customer.example", /plain domain name/],
      ["customer..example", /plain domain name/],
      ["cus tomer.example", /plain domain name/],
      ["customer.example\u0000", /^domain_name|NUL/],
      [`${"a".repeat(64)}.example`, /plain domain name/],
      [`${"a.".repeat(110)}example`, /too long/],
      ["xn--a.example", /plain domain name/],
    ];
    for (const [domain_name, message] of wrong) {
      const { outcome, json } = await add({ domain_name });
      expect(outcome, String(domain_name)).to.equal("422 invalid_request");
      expect(json.message, String(domain_name)).to.match(message);
    }
    for (const inbound_subdomain of ["", "_mail", "mail.other.example:1", "a b", "-", 5, "customer.example/x"]) {
      const { outcome, json } = await add({ domain_name: name(), inbound_subdomain });
      expect(outcome, String(inbound_subdomain)).to.equal("422 invalid_request");
      expect(json.message).to.match(/^inbound_subdomain/);
    }
    expect((await add({})).json.message).to.match(/^domain_name/);
    expect((await add({ domain_name: name(), more: 1 })).status).to.equal(422);
  });

  it("a domain that the workspace has already, or the service's own, is answered 409 [d7 domain conflict]", async () => {
    const domain_name = name();
    expect((await add({ domain_name })).status).to.equal(200);
    const taken = [
      { domain_name },
      { domain_name: domain_name.toUpperCase() },
      { domain_name, inbound_subdomain: "mail" },
      { domain_name: sandboxDomain },
    ];
    for (const json of taken) {
      const answer = await add(json);
      expect(answer.outcome, JSON.stringify(json)).to.equal("409 invalid_request");
    }
    const other = await service.workspace();
    expect((await add({ domain_name }, other)).status, "anybody may try").to.equal(200);
  });

  it("of parallel requests to add one domain, one succeeds", async () => {
    const own = await service.workspace({ beta: true });
    const domain_name = name();
    const answers = await Promise.all([1, 2, 3, 4].map(() => add({ domain_name }, own)));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 409, 409, 409]);
    expect((await own.ask("GET /v1/domains")).json.total).to.equal(2);
  });

  it("domains are limited by the plan, also when added in parallel; a deleted one makes room [8 domains] [8 pro]", async () => {
    const small = await service.workspace({ plan: "pro" });
    const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => add({ domain_name: name() }, small)));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 200, 200, 402, 402, 402]);
    const refused = answers.find(({ status }) => status === 402)!;
    expect(refused.json).to.include({ error: "plan_limit_reached" });
    expect(refused.json.upgrade_url).to.be.a("string");
    const kept = answers.find(({ status }) => status === 200)!;
    expect((await small.ask(`DELETE /v1/domains/${kept.json.id}`)).status).to.equal(200);
    expect((await add({ domain_name: name() }, small)).status).to.equal(200);
    expect((await add({ domain_name: name() }, small)).status).to.equal(402);
  });

  it("a request to verify a domain answers its present state and is recorded once [4 POST /v1/domains/{id}/verify]", async () => {
    const { json: domain } = await add({ domain_name: name() });
    const verify = `POST /v1/domains/${domain.id}/verify`;
    const { status, json } = await tenant.ask(verify);
    expect([status, json]).to.deep.equal([200, domain]);
    expect((await tenant.ask(verify)).status).to.equal(200);
    const types = (await service.store.read(domainStream(domain.id))).map(({ type }) => type);
    expect(types).to.deep.equal(["DomainAdded", "DomainCheckRequested"]);
    const sandbox = await tenant.ask(`POST /v1/domains/${sandboxDomainId(tenant.workspaceId)}/verify`);
    expect(sandbox.json).to.include({ sandbox: true, status: "verified" });
  });

  it("an identity on an unverified domain is refused, and so is deleting the sandbox domain [4 POST /v1/identities] [7 422 invalid_request]", async () => {
    const { json: domain } = await add({ domain_name: name() });
    const identity = { domain_id: domain.id, local_part: "support", display_name: "Support" };
    const { outcome, json } = await tenant.ask("POST /v1/identities", { json: identity });
    expect(outcome).to.equal("422 invalid_request");
    expect(json.message).to.match(/^domain_id: .* is not verified/);
    const sandbox = await tenant.ask(`DELETE /v1/domains/${sandboxDomainId(tenant.workspaceId)}`);
    expect(sandbox.outcome).to.equal("409 invalid_request");
  });

  it("another workspace's domain is answered 404 by every route", async () => {
    const other = await service.workspace();
    const { json: domain } = await add({ domain_name: name() });
    for (const line of [
      `GET /v1/domains/${domain.id}`,
      `POST /v1/domains/${domain.id}/verify`,
      `DELETE /v1/domains/${domain.id}`,
    ]) {
      const { outcome, json } = await other.ask(line);
      expect([outcome, json.message], line).to.deep.equal(["404 not_found", "no such resource"]);
    }
    const identity = { domain_id: domain.id, local_part: "support", display_name: "Support" };
    const { outcome, json } = await other.ask("POST /v1/identities", { json: identity });
    expect([outcome, json.field]).to.deep.equal(["404 not_found", "domain_id"]);
    expect((await other.ask("GET /v1/domains")).json.total).to.equal(1);
  });

  it("adding a domain needs write:domains, which does not allow reading them [5 scopes]", async () => {
    const reader = await service.workspace({ scopes: ["read:domains"] });
    const { json } = await add({ domain_name: name() }, reader);
    expect(json.error).to.equal("insufficient_scope");
    const writer = await service.workspace({ scopes: ["write:domains"] });
    expect((await add({ domain_name: name() }, writer)).status).to.equal(200);
    expect((await writer.ask("GET /v1/domains")).json.error).to.equal("insufficient_scope");
  });
});
