import { expect } from "chai";
import { asking } from "#test/support/asking.ts";
import { itInFull } from "#test/support/full.ts";
import { until } from "#test/support/inProcess.ts";
import { createTestDatabase } from "#test/support/postgres.ts";
import { eventOf, mockEventWebhook } from "#test/support/sendGrid/events.ts";
import { mockMail } from "#test/support/sendGrid/mail.ts";
import { mockApiKey, startMockSendGrid } from "#test/support/sendGrid/mockSendGrid.ts";
import { startService } from "#test/support/service.ts";

describe("a service killed between SendGrid's 202 and its record", () => {
  itInFull(
    "a mail accepted by SendGrid before the kill is not sent again, and an event settles it as sent",
    async () => {
      const sendGrid = mockMail();
      sendGrid.setLogs("not bought");
      const webhook = mockEventWebhook();
      const mock = await startMockSendGrid(sendGrid.handlers);
      const database = await createTestDatabase({ readModels: true });
      const env = {
        SECRETS_KEYS: `k1:${Buffer.alloc(32, 7).toString("base64")}`,
        MAIL_PROVIDER: "sendgrid",
        SENDGRID_API_KEY: mockApiKey,
        SENDGRID_BASE_URL: mock.url,
        SENDGRID_EVENT_PUBLIC_KEY: webhook.publicKey,
        RATE_LIMIT_READ: "off",
      };
      const killed = await startService({ database, env: { ...env, CRASH_AT: "deliver:handed-over" } });
      const key = killed.apiKey as string;
      const first = asking(killed.url, key);
      const [domain] = (await first("GET /v1/domains")).json.data;
      const identity = await first("POST /v1/identities", {
        json: { domain_id: domain.id, local_part: "news", display_name: "News", can_send_cold: true },
      });
      const letter = { to: ["ann@customer.example"], subject: "News", body_text: "We have news." };
      // The service may be killed before it answers.
      await first("POST /v1/emails/send", { json: { identity_id: identity.json.id, ...letter } }).catch(
        () => undefined,
      );
      expect(await killed.ended).to.equal("SIGKILL");

      const living = await startService({ database, env });
      const ask = asking(living.url, key);
      const draft = async () => (await ask("GET /v1/drafts")).json.data?.[0];
      const status = async () => (await draft())?.status;
      const historyHas = async (type: string) => {
        const { json } = await ask(`GET /v1/drafts/${(await draft())?.id}/history?limit=100`);
        return json.data?.some((event: any) => event.type === type) === true;
      };
      await until(() => historyHas("DeliveryUnknown"));
      expect(await status()).to.equal("sending");
      const answer = await webhook.post(living.url, [eventOf(sendGrid.taken[0]!, "delivered")], new Date());
      expect(answer.status).to.equal(200);
      await until(async () => (await status()) === "sent");
      expect(sendGrid.taken).to.have.length(1);
      await living.stop();
      await killed.stop();
      await database.drop();
      await mock.stop();
    },
  );
});
