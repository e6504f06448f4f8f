import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { createTestDatabase, type TestDatabase } from "#test/support/postgres.ts";
import { startService, type TestService } from "#test/support/service.ts";
import { approvalLink, type Client, createClient, until } from "../../scripts/support/client.ts";

const customer = "ada@customer.example";

/** Starts the service as operators do: in a separate process, from its settings alone. */
describe("The service as a process on EventStoreDB", () => {
  const server = new EventStoreDbStandIn();
  const ring = `k1:${Buffer.alloc(32, 7).toString("base64")}`;
  let database: TestDatabase;
  let service: TestService | undefined;
  before(async () => {
    await server.start();
    database = await createTestDatabase({ readModels: true });
  });
  after(async () => {
    await service?.stop();
    await database.drop();
    server.stop();
  });

  const start = (): Promise<TestService> =>
    startService({ database, env: { EVENT_STORE_URL: server.url, SECRETS_KEYS: ring, RATE_LIMIT_READ: "off" } });

  /** Delivers a customer's mail, submits a draft that answers it, and waits until the approver was asked. */
  async function asked(client: Client, identity: any) {
    const subject = `Order ${randomUUID()}`;
    await client.mail({ from: customer, to: identity.email_address, subject, text: "Where is it?" });
    const message = await until("its message", async () => {
      const { data } = await client.ask("GET /v1/threads?limit=100");
      const thread = data.find((each: any) => each.subject === subject);
      return thread && (await client.ask(`GET /v1/threads/${thread.id}`)).messages[0];
    });
    const text = `Here it is: ${randomUUID()}`;
    const based = { thread_id: message.thread_id, identity_id: identity.id, based_on_message_id: message.id };
    const { id } = await client.ask("POST /v1/drafts", { ...based, body_text: text });
    const asking = await until("the approval mail", async () =>
      (await client.outbox()).find((mail) => mail.to.includes("approver@example.com") && mail.text.includes(text)),
    );
    return { id, text, link: approvalLink(asking, "approve") };
  }

  /** Approves through the link, and waits until the reply is sent. */
  async function answered(client: Client, { id, link }: { id: string; link: string }): Promise<void> {
    await client.press(link, "approve");
    await until("sent", async () => (await client.ask(`GET /v1/drafts/${id}`)).status === "sent");
  }

  const copies = async (client: Client, { to, text }: { to: string; text: string }): Promise<number> =>
    (await client.outbox()).filter((mail) => mail.to.includes(to) && mail.text.includes(text)).length;

  it("the service on EventStoreDB asks for approval, is stopped, restarts where it was, and sends the answer", async () => {
    service = await start();
    const apiKey = service.apiKey as string;
    const before = createClient({ ...service, apiKey });
    const { id, text, link } = await asked(before, await before.identity());
    expect(server.calls.subscriptions.size, "subscriptions of the service").to.equal(1);
    await service.stop();
    expect(service.exitCode()).to.equal(0);
    expect(server.calls.subscriptions.size, "subscriptions of a service that was stopped").to.equal(0);

    service = await start();
    const again = createClient({ ...service, apiKey });
    // The restarted service listens on another port.
    await answered(again, { id, link: link.replace(/^https?:\/\/[^/]+/, service.url) });
    for (const to of ["approver@example.com", customer]) expect(await copies(again, { to, text }), to).to.equal(1);
  });
});
