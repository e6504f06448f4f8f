import { expect } from "chai";
import { createSmtpProvider } from "#src/mail/out/smtpProvider.ts";
import { mail, startInProcess, until } from "#test/support/inProcess.ts";
import { startSmtpRelay } from "#test/support/smtpRelay.ts";

describe("drafts that wait for room at a relay", () => {
  it("drafts that wait for room at a relay are not read meanwhile, are called when there is room, and all sent", async () => {
    const drafts = 24;
    const relay = await startSmtpRelay([], { connections: 4 });
    const other = createSmtpProvider(relay.url);
    const service = await startInProcess({ MAIL_PROVIDER: "smtp", SMTP_URL: relay.url });
    try {
      const held = await Promise.all(Array.from({ length: 4 }, () => other.connect()));
      let looks = 0;
      const load = service.deps.deliveries.load.bind(service.deps.deliveries);
      service.deps.deliveries.load = (...given) => {
        looks += 1;
        return load(...given);
      };
      const workspace = await service.workspace();
      const identity = await service.identity(workspace.id);
      const { address: to } = identity;
      const mails = Array.from({ length: drafts }, (_, n) => mail({ id: `question${n}@x.example`, to }));
      await Promise.all(mails.map((each) => service.deliver(to, each)));
      const threads = (await workspace.ask("GET /v1/threads?limit=100")).json.data;
      expect(threads).to.have.length(drafts);
      for (const { id: thread_id } of threads) {
        const { messages } = (await workspace.ask(`GET /v1/threads/${thread_id}`)).json;
        const base = { thread_id, identity_id: identity.id, based_on_message_id: messages[0].id };
        const { id } = (await workspace.ask("POST /v1/drafts", { json: { ...base, body_text: "Here." } })).json;
        await workspace.ask(`POST /v1/drafts/${id}/send`);
      }
      const waits = "select count(*) from work.items where process = 'deliver' and timer = 'room'";
      const waiting = async () => (await service.database.query<{ count: number }>(waits)).rows[0]!.count;
      await until(async () => (await waiting()) >= drafts - 1);
      // No timer is due for an hour.
      service.clock.advance(-3_600_000);
      const before = looks;
      await new Promise((resolve) => setTimeout(resolve, 5_000));
      // Only the draft that is called to test whether the relay is still busy.
      expect(looks - before).to.be.at.most(10);
      for (const connection of held) connection.discard();
      await until(async () => relay.mails.length === drafts);
      expect(relay.mostAtOnce).to.equal(4);
    } finally {
      await service.stop();
      await other.close();
      await relay.close();
    }
  });
});
