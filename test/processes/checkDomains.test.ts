import { expect } from "chai";
import { checkDomain } from "#src/commands/domains/domainChecks.ts";
import { checkDomains } from "#src/processes/checkDomains.ts";
import type { ProcessContext } from "#src/processes/process.ts";
import { domainStream } from "#streams/domain/events.ts";
import { system } from "#test/support/cause.ts";
import { deskOf } from "#test/support/desk.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { checkHoursLater, loseDomain } from "#test/support/failingChecks.ts";
import { type InProcess, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { publishZone, zonesOverHttp } from "../platform/dns/zonesOverHttp.ts";

describe("checking domains", () => {
  let dns: DnsServer;
  let service: InProcess;
  let workspace: Workspace;
  let number = 0;
  before(async () => {
    dns = await startDnsServer();
    service = await startInProcess({
      DNS_SERVERS: dns.address,
      DOMAIN_CHECK_SECONDS: "1,1,1",
      INBOUND_MX_HOST: "mx.service.example",
    });
    workspace = await service.workspace();
  });
  after(async () => {
    await service.stop();
    await dns.close();
  });

  const name = () => `customer${++number}.example`;
  const add = async (domain_name: string, of = workspace, inbound_subdomain: string | null = "mail") =>
    (await of.ask("POST /v1/domains", { json: { domain_name, inbound_subdomain } })).json;
  const read = async (id: string, of = workspace) => (await of.ask(`GET /v1/domains/${id}`)).json;

  /** Reads the domain until the condition holds, and returns it. */
  async function readUntil(id: string, isSo: (domain: any) => boolean, of = workspace) {
    let domain = await read(id, of);
    await until(async () => {
      domain = await read(id, of);
      return isSo(domain);
    });
    return domain;
  }
  const verified = async (of = workspace) => {
    const domain = await add(name(), of);
    dns.publish(domain.dns_records);
    return readUntil(domain.id, ({ status }) => status === "verified", of);
  };
  const eventsOf = async (id: string) => (await service.deps.store.read(domainStream(id))).map(({ type }) => type);

  it("a domain becomes verified without a request once its DNS records exist [3 domain status] [d7 schedule]", async () => {
    const domain = await add(name());
    expect(domain).to.include({ status: "pending", verified_at: null });
    const first = await readUntil(domain.id, ({ verification_attempts }) => verification_attempts >= 1);
    expect(first).to.include({ status: "pending", ownership_status: "failed", mx_status: "failed" });
    expect(first.dns_records[0].reason).to.match(/^no TXT record at _service\.mail\./);
    dns.publish(domain.dns_records.slice(0, 4));
    const almost = await readUntil(domain.id, ({ dkim_status }) => dkim_status === "verified");
    expect(almost).to.include({ status: "pending", spf_status: "verified", mx_status: "failed" });
    dns.publish(domain.dns_records);
    const done = await readUntil(domain.id, ({ status }) => status === "verified");
    expect(done).to.include({ mx_status: "verified", ownership_status: "verified" });
    expect(done.verified_at).to.be.a("string");
    expect(done.dns_records.map((record: any) => record.status)).to.deep.equal(Array(5).fill("verified"));
    expect((await eventsOf(domain.id)).filter((type) => type === "DomainVerified")).to.have.length(1);
  });

  for (const zone of zonesOverHttp)
    it(`a domain's status with ${zone.what}: ${zone.expect} [d7 records]`, async () => {
      const domain = await add(name(), workspace, null);
      const about = publishZone(dns, zone, domain);
      const { verification_attempts: before } = await read(domain.id);
      const checked = await readUntil(domain.id, ({ verification_attempts: attempts }) => {
        service.clock.advance(1_000);
        // One check may have begun before the zone was complete.
        return attempts >= (before ?? 0) + 2;
      });
      expect(checked[about], JSON.stringify(checked.dns_records)).to.equal(zone.expect);
      expect(checked.status).to.equal(zone.expect === "verified" ? "verified" : "pending");
      await workspace.ask(`DELETE /v1/domains/${domain.id}`);
    });

  it("a verified domain is lost after three failed checks in a row that are hours apart, not before [3 domain status] [d7 lost]", async () => {
    const domain = await verified();
    const first = domain.verification_attempts;
    dns.remove(domain.dns_records[0].fqdn);
    // Checks by schedule and by hand, within seconds.
    for (let n = 0; n < 3; n++) await workspace.ask(`POST /v1/domains/${domain.id}/verify`);
    const failing = await readUntil(domain.id, ({ verification_attempts }) => verification_attempts >= first + 5);
    expect(failing).to.include({ status: "verified", ownership_status: "failed" });
    await loseDomain(service, workspace, domain);
    const lost = await read(domain.id);
    expect(lost.status).to.equal("failed");
    expect(lost).to.include({ ownership_status: "failed", spf_status: "verified" });
    const types = (await eventsOf(domain.id)).filter((type) => type !== "DomainChecked" && !type.includes("Requested"));
    expect(types).to.deep.equal(["DomainAdded", "DomainVerified", "DomainFailing", "DomainLost"]);
    // The domain stays failed until a check is requested; then it is checked like a new one.
    expect((await workspace.ask(`POST /v1/domains/${domain.id}/verify`)).json.status).to.equal("pending");
    dns.publish(domain.dns_records);
    await readUntil(domain.id, ({ status }) => status === "verified");
  });

  it("owners are told by mail when a verified domain begins to fail, and when it is lost, each once [d7 lost]", async () => {
    const own = await service.workspace();
    const owners = [await deskOf(service, own.id, { role: "owner" }), await deskOf(service, own.id, { role: "owner" })];
    const approver = await deskOf(service, own.id, { role: "approver" });
    const mailsTo = async (email: string) =>
      (await service.outbox.newest(100))
        .filter(({ envelope, subject }) => envelope.to.includes(email) && !subject.includes("member"))
        // Names in mails are written so that no mail program makes links of them.
        .map(({ subject, text }) => ({ subject: subject.replaceAll("\u200c", ""), text }));
    const domain = await verified(own);
    dns.txt(domain.dns_records[0].fqdn, "https://evil.example");
    await checkHoursLater(service, own, domain);
    for (const { user } of owners) {
      await until(async () => (await mailsTo(user.email)).length === 1);
      const [mail] = await mailsTo(user.email);
      expect(mail!.subject).to.equal(`DNS records of “mail.${domain.domain_name}” are missing or different`);
      expect(mail!.text)
        .to.match(/still verified.*: ownership\./)
        .and.to.include(`/domains/${domain.id}`);
      expect(mail!.text).not.to.include("evil.example");
      expect(mail!.text.replaceAll("\u200c", "")).to.match(/\n\nownership: .*https:\/\/evil\.example.*\n\n/);
    }
    await loseDomain(service, own, domain);
    for (const { user } of owners) {
      await until(async () => (await mailsTo(user.email)).length === 2);
      const subjects = (await mailsTo(user.email)).map(({ subject }) => subject);
      expect(subjects).to.include(`“mail.${domain.domain_name}” is no longer verified`);
    }
    expect(await mailsTo(approver.user.email)).to.deep.equal([]);
  });

  it("a DMARC policy is advised: its status is shown, and a domain is verified without it [d7 records]", async () => {
    const domain = await verified();
    const [{ fqdn, value }] = domain.advised_records;
    const first = domain.advised_records[0];
    expect(first).to.include({ status: "failed", reason: `no TXT record at ${fqdn}, and no name above has a policy` });
    const shows = (status: string, reason: RegExp | null) =>
      readUntil(domain.id, ({ advised_records: [dmarc] }) =>
        reason === null ? dmarc.status === status && dmarc.reason === null : reason.test(dmarc.reason ?? ""),
      );
    dns.txt(`_dmarc.${domain.domain_name}`, "v=DMARC1; p=reject; rua=mailto:dmarc@reports.example");
    await shows("verified", new RegExp(`^the policy of ${domain.domain_name} applies$`));
    dns.txt(fqdn, value);
    await shows("verified", null);
    dns.trouble(fqdn, "servfail");
    expect(await shows("temporary_failure", /^DNS did not answer$/)).to.include({ status: "verified" });
    dns.trouble(fqdn, undefined);
    dns.txt(fqdn, "v=DMARC1; p=later");
    const wrong = await shows("failed", /^receivers cannot use "v=DMARC1; p=later"/);
    expect(wrong).to.include({ status: "verified", spf_status: "verified" });
    const types = await eventsOf(domain.id);
    expect(types).not.to.include("DomainFailing");
  });

  it("a domain keeps its status while DNS does not answer, and such checks do not count as failed [d7 temporary_failure]", async () => {
    const domain = await verified();
    dns.trouble(domain.dns_records[0].fqdn, "servfail");
    const troubled = await readUntil(
      domain.id,
      ({ dns_records, verification_attempts }) =>
        dns_records[0].status === "temporary_failure" && verification_attempts >= domain.verification_attempts + 4,
    );
    expect(troubled).to.include({ status: "verified", ownership_status: "verified" });
    expect(troubled.dns_records[0].reason).to.match(/SERVFAIL/);
    dns.trouble(domain.dns_records[0].fqdn, undefined);
    await readUntil(domain.id, ({ dns_records }) => dns_records[0].status === "verified");
  });

  it("a domain name is verified in one workspace only, and in another after the first deletes it [d7 verified elsewhere]", async () => {
    const other = await service.workspace();
    const contested = name();
    const [mine, theirs] = [await add(contested), await add(contested, other)];
    dns.publish(mine.dns_records);
    await readUntil(mine.id, ({ status }) => status === "verified");
    // DNS has the records of both, as if an agency and its customer had each published theirs.
    const fqdn = (record: number) => mine.dns_records[record].fqdn;
    dns.txt(fqdn(0), mine.dns_records[0].value, theirs.dns_records[0].value);
    dns.txt(fqdn(3), mine.dns_records[3].value, theirs.dns_records[3].value);
    dns.txt(theirs.dns_records[2].fqdn, theirs.dns_records[2].value);
    const refused = await readUntil(
      theirs.id,
      ({ dns_records }) => /another workspace/.test(dns_records[0].reason),
      other,
    );
    expect(refused).to.include({ status: "pending", ownership_status: "failed", spf_status: "verified" });
    expect(refused.dns_records[0].reason).to.equal("this domain is verified in another workspace");
    const third = await service.workspace();
    const again = await third.ask("POST /v1/domains", { json: { domain_name: contested } });
    expect([again.status, again.json.error]).to.deep.equal([409, "invalid_request"]);
    expect(again.json.message).to.match(/verified in another workspace/);
    // When one workspace deletes the domain, the other's is verified.
    expect((await workspace.ask(`DELETE /v1/domains/${mine.id}`)).status).to.equal(200);
    await readUntil(theirs.id, ({ status }) => status === "verified", other);
  });

  it("a record of the operator's that is missing is logged once, and not laid to the domains that include it", async () => {
    const settings = { ...service.deps.settings, spfInclude: "_spf.missing.example" };
    const logged: object[] = [];
    const log = { warn: (details: object) => logged.push(details), error: () => undefined };
    const process = checkDomains({ ...service.deps, settings, log }, [1, 1, 1]);
    const domain = await add(name());
    const { fqdn } = domain.dns_records[1];
    dns.publish(domain.dns_records.toSpliced(1, 1));
    dns.txt(fqdn, `v=spf1 include:${settings.spfInclude} ~all`);
    const timers = { set: async () => undefined, cancel: async () => undefined };
    const due = { key: domain.id, name: "check", dueAt: service.clock.now(), payload: {} };
    for (let n = 0; n < 2; n++) await process.onTimer!(due, { timers, cause: system() } as unknown as ProcessContext);
    expect(logged).to.have.length(1);
    expect(logged[0]).to.have.property("because").that.includes(`the SPF record of ${settings.spfInclude}, which`);
    await readUntil(domain.id, ({ status }) => status === "verified");
  });

  it("concurrent checks of a domain by two instances count once", async () => {
    const domain = await verified();
    // Both checks start from the same state, however busy the machine is.
    const stood = await service.deps.domains.load(domain.id);
    const domains = { ...service.deps.domains, load: async () => stood };
    const causes = [system(), system()];
    const deps = { ...service.deps, domains };
    await Promise.all(causes.map((cause) => checkDomain(deps, { domainId: domain.id }, cause)));
    const events = await service.deps.store.read(domainStream(domain.id));
    const checked = events.filter(({ type }) => type === "DomainChecked");
    expect(checked.map(({ data }) => data.attempt)).to.deep.equal(checked.map((_, n) => n + 1));
    // No check is recorded if the service's own came first.
    const asked = causes.map(({ correlationId }) => correlationId);
    expect(checked.filter(({ metadata }) => asked.includes(metadata.correlationId))).to.have.length.of.at.most(1);
    expect(events.filter(({ type }) => type === "DomainVerified")).to.have.length(1);
  });

  it("the checks of a deleted domain end, and its name can be added again", async () => {
    const domain = await verified();
    expect((await workspace.ask(`DELETE /v1/domains/${domain.id}`)).json).to.deep.equal({
      id: domain.id,
      deleted: true,
    });
    expect((await workspace.ask(`GET /v1/domains/${domain.id}`)).status).to.equal(404);
    expect((await workspace.ask(`POST /v1/domains/${domain.id}/verify`)).status).to.equal(404);
    const again = await workspace.ask("POST /v1/domains", { json: { domain_name: domain.domain_name } });
    expect(again.status).to.equal(200);
    expect(again.json.id).not.to.equal(domain.id);
    expect(again.json.verification_token).not.to.equal(domain.verification_token);
    await until(async () => {
      const { rows } = await service.database.query("select 1 from work.items where key = $1", [domain.id]);
      return rows.length === 0;
    });
  });
});
