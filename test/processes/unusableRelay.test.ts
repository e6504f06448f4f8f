import type { AddressInfo } from "node:net";
import { expect } from "chai";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { certificateOf } from "#test/support/certificate.ts";
import { until } from "#test/support/inProcess.ts";
import { startStory } from "#test/support/story/story.ts";

const cannot = "the mail provider cannot be used, retrying";
const can = "the mail provider can be used again";

describe("a relay that cannot be used", () => {
  let relay: SMTPServer;
  let port = 0;

  /** Starts the relay, at the same port as before. */
  async function startRelay(options: SMTPServerOptions): Promise<void> {
    relay = new SMTPServer({ logger: false, disableReverseLookup: true, authOptional: true, ...options });
    relay.on("error", () => {});
    await new Promise<void>((resolve) => relay.listen(port, "127.0.0.1", resolve));
    ({ port } = relay.server.address() as AddressInfo);
  }
  const stopRelay = () => new Promise<void>((resolve) => relay.close(resolve));

  it("a relay's certificate that is not trusted is named in the draft, in /readyz and once in the log", async () => {
    await startRelay({ ...certificateOf("relay.test"), closeTimeout: 100 });
    const lines: { msg: string; because?: string }[] = [];
    const { service, tenant } = await startStory(
      { MAIL_PROVIDER: "smtp", SMTP_URL: `smtp://127.0.0.1:${port}`, SMTP_RETRY_SECONDS: "0,0", LOG_LEVEL: "info" },
      { log: (line) => void lines.push(JSON.parse(line)) },
    );
    try {
      const because =
        /^SMTP relay: its certificate is not trusted \(self-signed certificate\): .*caFile.*ignoreTLS=true/;
      const failed = async () => {
        const draft = await tenant.draft(await tenant.mail());
        await draft.send();
        const { failure_code, failure_message } = await draft.becomes("failed");
        return { failure_code, failure_message, history: await draft.history() };
      };
      const first = await failed();
      expect(first.failure_code).to.equal("provider_unavailable");
      expect(first.failure_message).to.match(because);
      const ready = async () => {
        const response = await fetch(`${service.url}/readyz`);
        const { parts } = (await response.json()) as { parts: { name: string; ok: boolean; detail?: string }[] };
        return { status: response.status, ...parts.find(({ name }) => name === "mail_provider")! };
      };
      expect(await ready()).to.deep.include({ status: 503, ok: false, detail: first.failure_message });
      const told = () => lines.filter(({ msg }) => msg === cannot || msg === can);
      expect(told().map(({ because }) => because)).to.deep.equal([first.failure_message]);

      await stopRelay();
      expect((await failed()).failure_message).to.match(/nothing listens.*ECONNREFUSED/);
      await until(async () => (await ready()).ok);
      expect((await ready()).detail).to.match(/ECONNREFUSED/);
      expect(told()).to.have.length(2);

      await startRelay({ disabledCommands: ["STARTTLS", "AUTH"] });
      const draft = await tenant.draft(await tenant.mail());
      await draft.sendNow();
      expect(told().map(({ msg }) => msg)).to.deep.equal([cannot, cannot, can]);
      await until(async () => (await ready()).detail === undefined);
    } finally {
      await service.stop();
      await stopRelay();
    }
  });
});
