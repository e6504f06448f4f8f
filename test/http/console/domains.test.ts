import { expect } from "chai";
import { sandboxDomainId } from "#src/commands/ids.ts";
import { pageFaults } from "#test/attacks/console/pageFaults.ts";
import { type Desk, type DeskPage, deskOf as plainDesk } from "#test/support/desk.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { formIn } from "#test/support/pageForms.ts";

/** Every page that it is shown has to be in order. */
async function deskOf(...given: Parameters<typeof plainDesk>): Promise<Desk> {
  const desk = await plainDesk(...given);
  const inOrder =
    <Given extends unknown[]>(ask: (...of: Given) => Promise<DeskPage>) =>
    async (...of: Given) => {
      const seen = await ask(...of);
      if (seen.text !== "") expect(pageFaults(seen.text), String(of[0])).to.deep.equal([]);
      return seen;
    };
  return { ...desk, get: inOrder(desk.get), post: inOrder(desk.post) };
}

describe("the console's domain pages", () => {
  let dns: DnsServer;
  let service: InProcess;
  let workspace: Workspace;
  let owner: Desk;
  let own: string;

  before(async () => {
    dns = await startDnsServer();
    service = await startInProcess({ DNS_SERVERS: dns.address, INBOUND_MX_HOST: "mx.service.example" });
    workspace = await service.workspace();
    owner = await deskOf(service, workspace.id);
  });
  after(async () => {
    await service.stop();
    await dns.close();
  });

  const send = async (page: string, fields: Record<string, string> = {}, action = page) =>
    owner.post(action, { ...formIn((await owner.get(page)).text, action), ...fields });
  const stored = async (id: string) => (await workspace.ask(`GET /v1/domains/${id}`)).json;
  const looked = (id: string, times: number) =>
    until(async () => ((await stored(id)).verification_attempts ?? 0) >= times);

  it("the domain pages explain that the sandbox domain needs no DNS records and cannot be deleted", async () => {
    const list = await owner.get("/domains");
    expect(list.page).to.include("works at once");
    const { page, text } = await owner.get(`/domains/${sandboxDomainId(workspace.id)}`);
    expect(page).to.include("You do not need to add DNS records").and.to.include("All workspaces share it");
    expect(text).not.to.include("/verify").and.not.to.include("/delete");
    expect((await owner.get(`/domains/${sandboxDomainId(workspace.id)}/delete`)).page).to.include("cannot be deleted");
  });

  it("a domain is added by the form, and a refused form keeps what was typed", async () => {
    const refused = await send("/domains", { domain_name: "<b>not a domain</b>", inbound_subdomain: "mail" });
    expect(refused.status).to.equal(422);
    expect(formIn(refused.text, "/domains")).to.deep.include({
      domain_name: ["<b>not a domain</b>"],
      inbound_subdomain: ["mail"],
    });
    expect(refused.text).to.include('id="domain_name-error"').and.not.to.include("<b>not");
    // The domain already receives mail at another server.
    dns.mx("customer.example", [10, "mx.elsewhere.example"]);
    const { status, location } = await send("/domains", { domain_name: "customer.example" });
    expect(status).to.equal(303);
    own = /[0-9a-f-]{36}/.exec(location!)![0];
  });

  it("a domain's page shows its records to copy, wrong records without markup, and a subdomain if mail goes elsewhere", async () => {
    const [ownership] = (await stored(own)).dns_records;
    dns.txt(ownership.fqdn, "<img src=x onerror=alert(1)>\u202e");
    await looked(own, 1);
    await send(`/domains/${own}`, {}, `/domains/${own}/verify`);
    await until(async () => /img src/.test((await owner.get(`/domains/${own}`)).page));
    const { page, text } = await owner.get(`/domains/${own}`);
    for (const { value, host } of (await stored(own)).dns_records) {
      expect(text).to.include(`<code>${value}</code><button type="button" class="button quiet" data-copy="" hidden`);
      expect(text).to.include(`<code>${host}</code>`);
    }
    expect(text).to.include("&lt;img src=x").and.not.to.include("<img");
    expect(page).to.include("not verified yet : 0 of 5 records found").and.to.include("missing or different");
    expect(page).to.include("customer.example already receives mail elsewhere").and.to.include("mail.customer.example");
    expect(text).to.include("/domains?domain_name=customer.example&amp;inbound_subdomain=mail#add");
    expect(
      formIn((await owner.get("/domains?domain_name=customer.example&inbound_subdomain=mail")).text, "/domains"),
    ).to.deep.include({ domain_name: ["customer.example"], inbound_subdomain: ["mail"] });
    expect(text).to.include('hx-trigger="live:domains from:body"');
    expect(page).to.match(/Next: \d+ \w+ \d{4}|Next: now/);
  });

  it("a domain becomes verified when its records are published and a member starts the check", async () => {
    dns.publish((await stored(own)).dns_records);
    const before = (await stored(own)).verification_attempts;
    const { location } = await send(`/domains/${own}`, {}, `/domains/${own}/verify`);
    expect((await owner.get(location!)).page).to.include("Its records are being checked now");
    await looked(own, before + 1);
    await until(async () => (await owner.get(`/domains/${own}`)).page.includes("5 of 5 records found"));
    const { page } = await owner.get(`/domains/${own}`);
    expect(page).to.include("All records were found.").and.not.to.include("already receives mail elsewhere");
    expect(page).to.include("Advised").and.to.include("_dmarc").and.to.include("v=DMARC1; p=none");
    expect(page).to.include("no TXT record at _dmarc.customer.example, and no name above has a policy");
  });

  it("the page of a verified domain whose records fail says what is at stake", async () => {
    const [ownership] = (await stored(own)).dns_records;
    dns.remove(ownership.fqdn);
    const before = (await stored(own)).verification_attempts;
    await send(`/domains/${own}`, {}, `/domains/${own}/verify`);
    await looked(own, before + 1);
    await until(async () => (await owner.get(`/domains/${own}`)).page.includes("4 of 5 records found"));
    const { page } = await owner.get(`/domains/${own}`);
    expect(page).to.include("verified, but 1 record is wrong : 4 of 5").and.to.include("at least six hours apart");
    expect(page).not.to.include("All records were found.");
    dns.txt(ownership.fqdn, ownership.value);
  });

  it("a domain with an identity cannot be deleted, and the page names the identity", async () => {
    const identity = await service.identity(workspace.id, { domainId: own, localPart: "support" });
    const { page, text } = await owner.get(`/domains/${own}/delete`);
    expect(page).to.include("cannot be deleted while identities").and.to.include("support@customer.example");
    expect(text).not.to.include(`action="/domains/${own}/delete"`);
    const refused = await owner.post(`/domains/${own}/delete`);
    expect(refused.status).to.equal(409);
    await workspace.ask(`DELETE /v1/identities/${identity.id}`);
    expect((await send(`/domains/${own}/delete`)).location).to.match(/^\/domains\?/);
    expect((await owner.get(`/domains/${own}`)).status).to.equal(404);
  });

  it("an auditor sees the domain pages without forms; an approver and another workspace see none of them", async () => {
    const { id } = (await workspace.ask("POST /v1/domains", { json: { domain_name: "other.example" } })).json;
    const auditor = await deskOf(service, workspace.id, { role: "auditor" });
    for (const path of ["/domains", `/domains/${id}`]) {
      const { status, text } = await auditor.get(path);
      expect(status, path).to.equal(200);
      expect([...text.matchAll(/<form [^>]*action="([^"]*)"/g)].map((match) => match[1])).to.deep.equal([
        "/auth/sign-out",
      ]);
    }
    for (const path of [`/domains/${id}/verify`, `/domains/${id}/delete`, "/domains"])
      expect((await auditor.post(path, { domain_name: "x.example" })).status, path).to.equal(403);
    const approver = await deskOf(service, workspace.id, { role: "approver" });
    for (const path of ["/domains", `/domains/${id}`]) expect((await approver.get(path)).status, path).to.equal(403);
    await approver.get("/identities");
    expect((await approver.post(`/domains/${id}/delete`)).status).to.equal(403);
    const stranger = await deskOf(service, (await service.workspace()).id);
    for (const path of ["", "/delete"]) expect((await stranger.get(`/domains/${id}${path}`)).status).to.equal(404);
    await stranger.get("/domains");
    for (const path of ["/verify", "/delete"])
      expect((await stranger.post(`/domains/${id}${path}`)).status).to.equal(404);
    expect((await stored(id)).status).to.equal("pending");
  });
});
