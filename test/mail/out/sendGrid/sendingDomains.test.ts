import { expect } from "chai";
import { sendGridDomains } from "#src/mail/out/sendGrid/sendingDomains.ts";
import { ProviderAway, ProviderRefused } from "#src/mail/out/sendingDomains.ts";
import { mockDomains } from "#test/support/sendGrid/domains.ts";
import { faults } from "#test/support/sendGrid/faults.ts";
import { type MockSendGrid, mockApiKey, startMockSendGrid } from "#test/support/sendGrid/mockSendGrid.ts";

const inboundUrl = "https://agents.example/hooks/sendgrid/inbound/inbound-secret-one";

describe("domains at SendGrid", () => {
  let mock: MockSendGrid;
  const account = mockDomains();
  before(async () => {
    mock = await startMockSendGrid(account.handlers);
  });
  after(() => mock.stop());
  afterEach(() => mock.setFault(undefined));

  const domains = (more: object = {}) =>
    sendGridDomains({
      ...{ baseUrl: mock.url, apiKey: mockApiKey, inboundUrl, inboundPublicKey: undefined, patienceMs: 10_000 },
      ...more,
    });

  it("a domain call reports every fault of SendGrid as away or refused, in time and without the key", async () => {
    const [patient, hasty] = [domains(), domains({ patienceMs: 150 })];
    for (const { at: stage, what, fault } of faults) {
      const at = what.includes("silence") ? hasty : patient;
      mock.setFault(fault);
      const error = await at.register("mail.faulty.example").then(
        () => undefined,
        (reason) => reason,
      );
      const isRefusal = /^(400|404|413|307)/.test(what);
      expect(error, `${stage} ${what}`).to.be.instanceOf(isRefusal ? ProviderRefused : ProviderAway);
      expect(JSON.stringify([error, error.message, error.stack])).not.to.include(mockApiKey);
    }
    await Promise.all([patient.close(), hasty.close()]);
  });

  it("a domain is registered, received for and removed once, however often it is asked", async () => {
    const at = domains();
    const [first, second] = [await at.register("mail.twice.example"), await at.register("mail.twice.example")];
    expect([first.made, second.made, second.id]).to.deep.equal([true, false, first.id]);
    await at.receive("mail.twice.example");
    await at.receive("mail.twice.example");
    expect([...account.settings.keys()]).to.deep.equal(["mail.twice.example"]);
    for (let time = 0; time < 2; time++) {
      await at.stopReceiving("mail.twice.example");
      await at.remove(first.id);
    }
    expect([account.settings.size, account.domains.size]).to.deep.equal([0, 0]);
    await at.close();
  });

  it("a domain does not receive if its mail could not be signed or no inbound URL is set", async () => {
    const at = domains();
    await at.register("mail.signed.example");
    const signing = domains({ inboundPublicKey: "no such key" });
    const error = await signing.receive("mail.signed.example").catch((reason) => reason);
    expect(error).to.be.instanceOf(ProviderAway);
    expect(error.message).to.match(/security policy with SENDGRID_INBOUND_PUBLIC_KEY/);
    await domains({ inboundUrl: undefined }).receive("mail.signed.example");
    expect(account.settings.size).to.equal(0);
    await Promise.all([at.close(), signing.close()]);
  });
});
