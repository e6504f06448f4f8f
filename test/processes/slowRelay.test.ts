import { expect } from "chai";
import { itInFull } from "#test/support/full.ts";
import { mail, startInProcess, until } from "#test/support/inProcess.ts";
import { type RelayFault, type RelayOptions, startSmtpRelay } from "#test/support/smtpRelay.ts";

/** The service with its real time limits against slow relays. relayFaults.test.ts has the same with short limits. */
describe("a slow relay", function () {
  this.timeout(400_000);

  /** Sends one draft through this relay and returns how it ended. */
  async function sendThrough(faults: RelayFault[], options: RelayOptions) {
    const relay = await startSmtpRelay(faults, options);
    const service = await startInProcess({
      MAIL_PROVIDER: "smtp",
      SMTP_URL: relay.url,
      SMTP_RETRY_SECONDS: "1,1",
    });
    try {
      const workspace = await service.workspace();
      const identity = await service.identity(workspace.id);
      await service.deliver(identity.address, mail({ id: "question@x.example", to: identity.address }));
      const [thread] = (await workspace.ask("GET /v1/threads")).json.data;
      const { messages } = (await workspace.ask(`GET /v1/threads/${thread.id}`)).json;
      const base = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages[0].id };
      const { id } = (await workspace.ask("POST /v1/drafts", { json: { ...base, body_text: "Here." } })).json;
      await workspace.ask(`POST /v1/drafts/${id}/send`);
      const draft = async () => (await workspace.ask(`GET /v1/drafts/${id}`)).json;
      await until(async () => ["sent", "failed"].includes((await draft()).status), 300_000);
      const { status, failure_code } = await draft();
      const { tries } = (await service.deps.drafts.load(id)).state;
      return { status, code: failure_code ?? null, tries, mails: relay.mails.length, connections: relay.connections };
    } finally {
      await service.stop();
      await relay.close();
    }
  }
  const sent = { status: "sent", code: null, tries: 0, mails: 1, connections: 1 };

  itInFull(
    "a relay slow to be ready or to answer gets the mail at the first try; a silent one fails it after all tries",
    async () => {
      const [after6, after25, after40, never] = await Promise.all([
        sendThrough([], { answersAfterMs: { greeting: 6_000 } }),
        sendThrough([], { answersAfterMs: { greeting: 25_000 } }),
        sendThrough([], { answersAfterMs: { RCPT: 40_000 } }),
        sendThrough([{ at: "greeting", how: "stall" }], {}),
      ]);
      expect([after6, after25, after40]).to.deep.equal([sent, sent, sent]);
      const failed = { status: "failed", code: "provider_unavailable", tries: 2, mails: 0, connections: 3 };
      expect(never).to.deep.equal(failed);
    },
  );
});
