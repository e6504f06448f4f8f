import { expect } from "chai";
import { identityStream } from "#streams/identity/events.ts";
import { type DnsServer, startDnsServer } from "#test/support/dnsServer.ts";
import { loseDomain } from "#test/support/failingChecks.ts";
import { sized } from "#test/support/full.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { type SmtpRelay, startSmtpRelay } from "#test/support/smtpRelay.ts";

describe("a workspace's own domain", () => {
  let dns: DnsServer;
  let relay: SmtpRelay;
  let service: InProcess;
  let workspace: Workspace;
  let number = 0;
  before(async () => {
    [dns, relay] = await Promise.all([startDnsServer(), startSmtpRelay()]);
    service = await startInProcess({
      DNS_SERVERS: dns.address,
      DOMAIN_CHECK_SECONDS: "1,1,1",
      INBOUND_MX_HOST: "mx.service.example",
      MAIL_PROVIDER: "smtp",
      SMTP_URL: relay.url,
    });
    workspace = await service.workspace();
  });
  after(async () => {
    await service.stop();
    await relay.close();
    await dns.close();
  });

  const read = async (id: string) => (await workspace.ask(`GET /v1/domains/${id}`)).json;
  async function verified() {
    const json = { domain_name: `shop${++number}.example`, inbound_subdomain: "mail" };
    const { json: domain } = await workspace.ask("POST /v1/domains", { json });
    dns.publish(domain.dns_records);
    // Requests a check at once.
    await workspace.ask(`POST /v1/domains/${domain.id}/verify`);
    await until(async () => (await read(domain.id)).status === "verified");
    return domain;
  }
  const identityOn = (domain: any, local_part = "support", more: object = {}) =>
    workspace.ask("POST /v1/identities", { json: { domain_id: domain.id, local_part, display_name: "Shop", ...more } });

  async function answered(identity: any) {
    const id = `q${++number}@customer.example`;
    await service.deliver(identity.email_address, mail({ id, to: identity.email_address }));
    const thread = (await workspace.ask(`GET /v1/threads?identity_id=${identity.id}&limit=1`)).json.data[0];
    const { json } = await workspace.ask(`GET /v1/threads/${thread.id}`);
    const body = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: json.messages.at(-1).id };
    const { json: draft } = await workspace.ask("POST /v1/drafts", {
      json: { ...body, body_text: "On its way: ö, and\n.a dot" },
    });
    await workspace.ask(`POST /v1/drafts/${draft.id}/approve`);
    return draft;
  }

  it("a verified domain receives mail, and mail of its identities is signed with its key, byte for byte [d7 DKIM key] [4 POST /v1/identities]", async () => {
    const domain = await verified();
    const { status, json: identity } = await identityOn(domain);
    expect(status, JSON.stringify(identity)).to.equal(201);
    const mailDomain = `mail.${domain.domain_name}`;
    expect(identity).to.include({ email_address: `support@${mailDomain}`, domain_id: domain.id });
    const draft = await answered(identity);
    expect((await workspace.ask(`POST /v1/drafts/${draft.id}/send`)).status).to.be.lessThan(300);
    await until(async () => (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent");
    const sent = relay.mails.at(-1)!;
    expect(sent.to).to.deep.equal(["ann@customer.example"]);
    expect(sent.content.toString()).to.match(new RegExp(`^DKIM-Signature: [^]*d=${mailDomain}`));
    const events = await service.deps.store.read(`delivery-${await attemptOf(draft.id)}`);
    const started = events.find(({ type }) => type === "DeliveryStarted");
    const fixed = await service.deps.blobs.get(started!.data.mimeSha256 as string);
    expect(fixed!.equals(sent.content), "the bytes that were fixed are the bytes that left").to.equal(true);
    dns.txt(`_dmarc.${mailDomain}`, "v=DMARC1; p=reject; adkim=s; aspf=s");
    const remote = { ip: "192.0.2.77", helo: "relay.example" };
    const sender = { address: identity.email_address, fromCount: 1 };
    const found = await service.deps.authenticator.authenticate(
      { withRaw: (work) => work(sent.content), envelopeFrom: "x@relay.example", remote, turn: identity.id },
      sender,
    );
    expect(found).to.include({ dkim: "pass", dmarc: "pass", aligned: true });
  });

  async function attemptOf(draftId: string): Promise<string> {
    const events = await service.deps.store.read(`draft-${draftId}`);
    return events.find(({ type }) => type === "DraftQueued")!.data.attemptId as string;
  }

  it("mail of a sandbox identity has no DKIM signature", async () => {
    const { json: list } = await workspace.ask("GET /v1/domains?limit=100");
    const sandbox = list.data.find((domain: any) => domain.sandbox);
    const { json: identity } = await identityOn(sandbox, `agent${++number}`);
    const draft = await answered(identity);
    await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
    await until(async () => (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent");
    expect(relay.mails.at(-1)!.content.toString()).not.to.match(/DKIM-Signature/);
  });

  it("identities of a lost domain receive, do not send, and send again once it is verified [d7 lost]", async () => {
    const domain = await verified();
    const { json: identity } = await identityOn(domain);
    dns.remove(domain.dns_records[0].fqdn);
    await loseDomain(service, workspace, domain);
    const draft = await answered(identity);
    const refused = await workspace.ask(`POST /v1/drafts/${draft.id}/send`);
    expect([refused.status, refused.json.error]).to.deep.equal([422, "identity_not_active"]);
    expect(refused.json.message).to.match(/no longer verified/);
    expect((await identityOn(domain, "another")).json.message).to.match(/^domain_id: .* is not verified/);
    dns.publish(domain.dns_records);
    await workspace.ask(`POST /v1/domains/${domain.id}/verify`);
    await until(async () => (await read(domain.id)).status === "verified");
    expect((await workspace.ask(`POST /v1/drafts/${draft.id}/send`)).status).to.be.lessThan(300);
    await until(async () => (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent");
  });

  it("a domain with identities is not deleted: 409 [d7 delete domain]", async () => {
    const domain = await verified();
    const { json: identity } = await identityOn(domain);
    const refused = await workspace.ask(`DELETE /v1/domains/${domain.id}`);
    expect([refused.status, refused.json.error]).to.deep.equal([409, "invalid_request"]);
    expect(refused.json.message).to.include(identity.id);
    await workspace.ask(`DELETE /v1/identities/${identity.id}`);
    expect((await workspace.ask(`DELETE /v1/domains/${domain.id}`)).json).to.deep.equal({
      id: domain.id,
      deleted: true,
    });
  });

  it("one of a domain's deletion and a concurrent new identity on it is refused", async () => {
    for (let round = 0; round < sized(2, 5); round++) {
      const domain = await verified();
      const [made, deleted] = await Promise.all([identityOn(domain), workspace.ask(`DELETE /v1/domains/${domain.id}`)]);
      expect(
        [made.status, deleted.status].filter((status) => status < 300),
        JSON.stringify([made.json, deleted.json]),
      ).to.have.length(1);
      if (made.status !== 201) continue;
      const [created] = await service.deps.store.read(identityStream(made.json.id));
      expect(created!.type).to.equal("IdentityCreated");
    }
  });

  it("an approver's mailbox may not be on the identity's domain, but on its parent that is received elsewhere [d2 approval channel]", async () => {
    const domain = await verified();
    const channel = (to: string) => ({ approval_channel: { type: "email", config: { to } } });
    const inside = await identityOn(domain, "one", channel(`boss@MAIL.${domain.domain_name}`));
    expect([inside.status, inside.json.error]).to.deep.equal([422, "invalid_request"]);
    expect(inside.json.message).to.match(/^approval_channel\.config\.to/);
    expect((await identityOn(domain, "two", channel(`boss@${domain.domain_name}`))).status).to.equal(201);
  });

  it("a second identity with the same address is refused with 409 [7 409 invalid_request]", async () => {
    const domain = await verified();
    expect((await identityOn(domain)).status).to.equal(201);
    const again = await identityOn(domain);
    expect([again.status, again.json.error]).to.deep.equal([409, "invalid_request"]);
  });

  it("a domain verified by another workspace gives its addresses and mail to that workspace", async () => {
    const domain = await verified();
    const { json: before } = await identityOn(domain);
    dns.remove(domain.dns_records[0].fqdn);
    await loseDomain(service, workspace, domain);
    const buyer = await service.workspace();
    const json = { domain_name: domain.domain_name, inbound_subdomain: "mail" };
    const { json: bought } = await buyer.ask("POST /v1/domains", { json });
    dns.publish(bought.dns_records);
    await until(async () => (await buyer.ask(`GET /v1/domains/${bought.id}`)).json.status === "verified");
    // From now on the former owner receives no mail sent to the domain.
    const gone = await service.deliver(before.email_address, mail({ id: "late@customer.example" })).catch(String);
    expect(gone).to.match(/nobody's address/);
    const identity = { domain_id: bought.id, local_part: "support", display_name: "Shop" };
    const { status, json: after } = await buyer.ask("POST /v1/identities", { json: identity });
    expect([status, after.email_address]).to.deep.equal([201, before.email_address]);
    await service.deliver(after.email_address, mail({ id: "new@customer.example", to: after.email_address }));
    expect((await buyer.ask(`GET /v1/threads?identity_id=${after.id}`)).json.total).to.equal(1);
    expect((await workspace.ask(`GET /v1/threads?identity_id=${before.id}`)).json.total).to.equal(0);
    expect((await workspace.ask(`DELETE /v1/identities/${before.id}`)).status).to.equal(200);
    await service.caughtUp();
    await service.deliver(after.email_address, mail({ id: "newer@customer.example", to: after.email_address }));
    expect((await buyer.ask(`GET /v1/threads?identity_id=${after.id}`)).json.total).to.equal(2);
  });
});
