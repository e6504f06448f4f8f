import { expect } from "chai";
import { domainStream } from "#streams/domain/events.ts";
import { asking } from "#test/support/asking.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { inFull } from "#test/support/full.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { mockDomains } from "#test/support/sendGrid/domains.ts";
import { inboundPost, securityPolicy } from "#test/support/sendGrid/inboundForm.ts";
import { type MockSendGrid, mockApiKey, problem, startMockSendGrid } from "#test/support/sendGrid/mockSendGrid.ts";

const secret = "inbound-secret-one";
const policy = securityPolicy();

describe("a domain at SendGrid", () => {
  let dns: DnsServer;
  let mock: MockSendGrid;
  let service: InProcess;
  let workspace: Workspace;
  let number = 0;
  const account = mockDomains();
  const log: string[] = [];

  before(async () => {
    [dns, mock] = await Promise.all([startDnsServer(), startMockSendGrid(account.handlers)]);
    account.policies.push({ id: "policy-1", name: "inbound", signature: { public_key: policy.publicKey } });
    service = await startInProcess(
      {
        ...{ DNS_SERVERS: dns.address, DOMAIN_CHECK_SECONDS: "1,1,1", INBOUND_MX_HOST: "mx.sendgrid.net" },
        ...{ MAIL_PROVIDER: "sendgrid", SENDGRID_API_KEY: mockApiKey, SENDGRID_BASE_URL: mock.url },
        ...{ SENDGRID_INBOUND_SECRET: secret, SENDGRID_INBOUND_PUBLIC_KEY: policy.publicKey },
        PUBLIC_URL: "https://agents.example",
      },
      { log: (line) => log.push(line) },
    );
    workspace = await service.workspace();
  });
  after(async () => {
    await service.stop();
    await mock.stop();
    await dns.close();
  });
  afterEach(() => {
    mock.setFault(undefined);
    account.invalid.clear();
  });

  const add = async (domain_name = `shop${++number}.example`, of = workspace) => {
    const { status, json } = await of.ask("POST /v1/domains", { json: { domain_name, inbound_subdomain: "mail" } });
    expect(status, json.message).to.equal(200);
    return json;
  };
  const read = async (id: string, of = workspace) => (await of.ask(`GET /v1/domains/${id}`)).json;
  const isVerified = async (id: string, of = workspace) => (await read(id, of)).status === "verified";
  /** Waits for a check that began after the call, and returns the domain. */
  async function checked(id: string, of = workspace): Promise<any> {
    const { verification_attempts: before } = await read(id, of);
    service.clock.advance(2_000);
    await until(async () => (await read(id, of)).verification_attempts > before + 1);
    return read(id, of);
  }
  const remove = (id: string, of = workspace) => of.ask(`DELETE /v1/domains/${id}`);
  const reasonsOf = (domain: any): string[] => domain.dns_records.map(({ reason }: any) => reason).filter(Boolean);
  const fails = (path: RegExp, status = 503) => ({
    before: (request: any, response: any) => {
      if (!path.test(`${request.method} ${request.url}`)) return false;
      request.resume().once("end", () => {
        response.writeHead(status).end(JSON.stringify(problem(status, `no ${mockApiKey}`).body));
      });
      return true;
    },
  });

  it("a domain at SendGrid shows SendGrid's own DNS records", async () => {
    const domain = await add();
    const at = `mail.${domain.domain_name}`;
    const theirs = [...account.domains.values()].find((each) => each.domain === at)!;
    const { domain_spf, dkim, subdomain_spf, mail_server } = theirs.dns as any;
    expect(domain.dns_records.map(({ type, fqdn, value }: any) => [type, fqdn, value])).to.deep.equal([
      ["TXT", `_service.${at}`, domain.verification_token],
      ["TXT", at, domain_spf.data],
      ["TXT", dkim.host, dkim.data],
      ["TXT", subdomain_spf.host, subdomain_spf.data],
      ["MX", mail_server.host, "mx.sendgrid.net"],
      ["MX", at, "mx.sendgrid.net"],
    ]);
    expect(new Set(domain.dns_records.map(({ purpose }: any) => purpose)).size).to.equal(5);
    expect(domain.dns_records[2].host).to.equal("m1._domainkey.mail");
    const posted = mock.calls.find(
      ({ method, path, body }) => `${method} ${path}` === "POST /v3/whitelabel/domains" && body.domain === at,
    );
    expect(posted?.body).to.include({ automatic_security: false });
    const events = (await service.store.read(domainStream(domain.id))).map(({ type }) => type);
    expect(events.slice(0, 2)).to.deep.equal(["DomainAdded", "DomainRegistered"]);
  });

  it("a domain at SendGrid is verified by DNS and by SendGrid, receives before that, and is removed when deleted", async () => {
    const domain = await add();
    const at = `mail.${domain.domain_name}`;
    const { dns_records } = await checked(domain.id);
    expect(dns_records[2].reason).to.match(/no TXT record at m1\._domainkey/);
    account.invalid.set("dkim", 'Expected TXT for "m1" to match');
    dns.publish(domain.dns_records);
    await until(async () => reasonsOf(await read(domain.id)).length === 1);
    expect(await read(domain.id)).to.include({ status: "pending", dkim_status: "failed", spf_status: "verified" });
    expect(reasonsOf(await read(domain.id))).to.deep.equal(['SendGrid: Expected TXT for "m1" to match']);
    expect(account.settings.has(at), "not before it is verified").to.equal(false);
    account.invalid.clear();
    service.clock.advance(2_000);
    await until(() => isVerified(domain.id));
    expect(account.settings.get(at)).to.deep.equal({
      ...{ hostname: at, url: `https://agents.example/hooks/sendgrid/inbound/${secret}` },
      ...{ send_raw: true, spam_check: false, security_policy: "policy-1" },
    });
    expect((await remove(domain.id)).status).to.equal(200);
    await until(
      async () => !account.settings.has(at) && ![...account.domains.values()].some((each) => each.domain === at),
    );
    expect((await add(domain.domain_name)).status).to.equal("pending");
  });

  it("a domain at SendGrid waits and says so while SendGrid is away, at every step", async () => {
    for (const status of inFull ? [503, 401, 429] : [401]) {
      mock.setFault(fails(/whitelabel/, status));
      const domain = await add();
      expect(domain.dns_records.map(({ value }: any) => value === "")).to.deep.equal([false, true, true, true, false]);
      const [, spf] = (await checked(domain.id)).dns_records;
      expect(spf).to.include({ status: "temporary_failure" });
      expect(spf.reason).to.match(/^SendGrid (answered|refuses) .*; retried at the next check$/);
      mock.setFault(undefined);
      await until(async () => {
        service.clock.advance(1_000);
        return (await read(domain.id)).dns_records.length === 6;
      });
      await remove(domain.id);
    }
    const domain = await add();
    const at = `mail.${domain.domain_name}`;
    mock.setFault(fails(/validate/));
    dns.publish(domain.dns_records);
    const held = await checked(domain.id);
    expect(held).to.include({ status: "pending", mx_status: "verified" });
    expect(reasonsOf(held)[0]).to.match(/^SendGrid answered 503; /);
    mock.setFault(fails(/parse/));
    const later = await checked(domain.id);
    expect(later).to.include({ status: "pending", dkim_status: "verified" });
    expect(later.dns_records[5].reason).to.match(/^SendGrid answered 503; /);
    mock.setFault(undefined);
    await until(async () => {
      service.clock.advance(1_000);
      return isVerified(domain.id);
    });
    mock.setFault(fails(/DELETE/));
    await remove(domain.id);
    const deletions = () => mock.calls.filter(({ method }) => method === "DELETE").length;
    const before = deletions();
    mock.setFault(undefined);
    await until(async () => {
      service.clock.advance(61_000);
      return !account.settings.has(at) && deletions() > before;
    });
    expect(JSON.stringify([log, held, later]))
      .not.to.include(mockApiKey)
      .and.not.to.include(secret);
  });

  it("a changed or lost inbound setting at SendGrid is restored", async () => {
    const domain = await add();
    const at = `mail.${domain.domain_name}`;
    dns.publish(domain.dns_records);
    service.clock.advance(2_000);
    await until(() => isVerified(domain.id));
    const asMade = account.settings.get(at)!;
    for (const change of [
      { url: "https://old.example/hooks/sendgrid/inbound/x" },
      { send_raw: false },
      { security_policy: "other" },
      undefined,
    ]) {
      if (change) account.settings.set(at, { ...asMade, ...change });
      else account.settings.delete(at);
      service.clock.advance(2_000);
      await until(async () => JSON.stringify(account.settings.get(at)) === JSON.stringify(asMade));
    }
  });

  it("a domain that SendGrid lost is registered again and shows the new records", async () => {
    const domain = await add();
    const at = `mail.${domain.domain_name}`;
    const theirs = () => [...account.domains.values()].filter((each) => each.domain === at);
    account.domains.delete(theirs()[0]!.id);
    dns.publish(domain.dns_records);
    service.clock.advance(2_000);
    await until(async () => theirs().length === 1);
    const key = theirs()[0]!.dns.dkim!.data;
    await until(async () => (await read(domain.id)).dns_records[2].value === key);
    expect((await read(domain.id)).status).to.equal("pending");
    dns.publish((await read(domain.id)).dns_records);
    service.clock.advance(2_000);
    await until(() => isVerified(domain.id));
  });

  it("mail from SendGrid for an unknown address is listed in the domain's workspace and no other", async () => {
    const owner = await service.workspace();
    const domain = await add("letters.example", owner);
    dns.publish(domain.dns_records);
    service.clock.advance(2_000);
    await until(() => isVerified(domain.id, owner));
    const raw = mail({ id: "lost@customer.example" });
    const form = policy.signed(inboundPost({ raw, to: ["typo@mail.letters.example"] }), service.clock.now());
    const answer = await fetch(`${service.url}/hooks/sendgrid/inbound/${secret}`, {
      ...{ method: "POST", body: Uint8Array.from(form.body), headers: form.headers },
    });
    expect([answer.status, await answer.json()]).to.deep.equal([200, { recipients: 0, unknown: 1 }]);
    await service.caughtUp();
    const { json } = await owner.ask("GET /v1/inbound");
    expect(json.total).to.equal(1);
    expect(json.data[0]).to.include({ identity_id: null, disposition: "unknown_recipient", message_id: null });
    expect(json.data[0]).to.include({ reason: "no identity has this address", size_bytes: Buffer.byteLength(raw) });
    expect((await workspace.ask("GET /v1/inbound")).json.total).to.equal(0);
    const path = `GET /v1/inbound/${json.data[0].id}/raw`;
    expect((await owner.ask(path)).bytes.toString()).to.equal(raw);
    const reader = asking(service.url, await owner.keyOf(["read:threads"]));
    await service.caughtUp();
    expect((await reader(path)).json.error).to.equal("insufficient_scope");
    expect((await workspace.ask(path)).status).to.equal(404);
  });

  it("deleting a domain removes nothing at SendGrid that belongs to others", async () => {
    const elsewhere = {
      hostname: "mail.operator.example",
      url: "https://other.example/mail",
      send_raw: false,
      spam_check: true,
    };
    account.settings.set(elsewhere.hostname, elsewhere);
    const theirs = account.add("mail.operator.example");
    account.add("mail.operator.example", { automatic: true });
    const squatter = await add("operator.example");
    expect(squatter.dns_records[2].value).to.equal(theirs.dns.dkim?.data);
    const asked = mock.calls.length;
    await remove(squatter.id);
    await until(async () => mock.calls.slice(asked).some(({ path }) => path.includes("parse/settings/mail.operator")));

    const owner = await service.workspace();
    const owned = await add("owned.example", owner);
    dns.publish(owned.dns_records);
    service.clock.advance(2_000);
    await until(() => isVerified(owned.id, owner));
    const second = await add("next.example");
    const other = await service.workspace();
    const also = await add("next.example", other);
    await remove(also.id, other);
    await until(async () => (await service.deps.domains.load(also.id)).state.deleted);
    await checked(second.id);
    expect(account.settings.get(elsewhere.hostname)).to.deep.equal(elsewhere);
    expect(account.domains.has(theirs.id)).to.equal(true);
    expect([...account.domains.values()].some(({ domain }) => domain === "mail.next.example")).to.equal(true);
    expect(account.settings.has("mail.owned.example")).to.equal(true);
  });
});
