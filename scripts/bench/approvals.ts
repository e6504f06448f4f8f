import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pressOf, signedCall } from "#test/support/slack/slack.ts";
import { type SmtpRelay, startSmtpRelay, textOf } from "#test/support/smtpRelay.ts";
import { approvalLink, type Client, until } from "../support/client.ts";
import { type Bench, concurrently } from "./bench.ts";
import { sendMails } from "./mails.ts";
import { type Service, startService, untilAtLeast, untilCaughtUp, untilIdle } from "./service.ts";

const agents = 8;
const slackSecret = "0123456789abcdef0123456789abcdef";

/** A way in which a draft is approved. `settings`: of its identity; `approve` finds what approvers were sent by the draft's rationale. */
type Way = {
  name: string;
  settings: Record<string, unknown>;
  approve(service: Service, draft: { id: string; rationale: string }): Promise<unknown>;
};

/** A mail in, its draft, the approval and the reply to a relay. */
export const bench: Bench = {
  size: 200,
  unit: "mails, each answered, in each way of approving",
  async run(server, size) {
    const [relay, chat] = [await startSmtpRelay(), await startChat()];
    server.atEnd(() => relay.close());
    server.atEnd(() => chat.stop());
    const service = await startService(server, await server.database(), {
      ...{ MAIL_PROVIDER: "smtp", SMTP_URL: relay.url },
      ...{ SLACK_ALLOWED_HOSTS: chat.host, WEBHOOK_ALLOWED_HOSTS: chat.host, SLACK_SIGNING_SECRET: slackSecret },
    });
    await untilCaughtUp(service);
    for (const way of [bySetting, byKey, byLink(relay), inChat(chat)]) {
      await answerAll(service, way, Math.ceil(size / 4));
      await untilIdle(service.database);
      await server.measure(`mail, draft, approval ${way.name}, reply`, service, async () => {
        await answerAll(service, way, size);
        await untilIdle(service.database);
        return size;
      });
    }
  },
};

const bySetting: Way = {
  name: "by a setting",
  settings: { approval_channel: undefined, auto_approve_replies: true },
  approve: async () => {},
};

const byKey: Way = {
  name: "by key",
  settings: { approval_channel: undefined },
  async approve({ client }, { id }) {
    await client.ask(`POST /v1/drafts/${id}/approve`);
    await client.ask(`POST /v1/drafts/${id}/send`);
  },
};

const byLink = (relay: SmtpRelay): Way => ({
  name: "by link",
  settings: { approval_channel: { type: "email", config: { to: "approver@example.com" } } },
  async approve({ client }, { rationale }) {
    const asking = await until(rationale, async () => relay.mails.find((mail) => textOf(mail).includes(rationale)));
    const { status } = await client.press(approvalLink({ text: textOf(asking) }, "approve"), "approve");
    if (status !== 200) throw new Error(`the link's page answered ${status}`);
  },
});

const inChat = ({ host, cards }: Chat): Way => ({
  name: "in a chat",
  settings: {
    approval_channel: {
      type: "slack",
      config: { webhook_url: `http://${host}/services/T000000001/B000000001/X000000001` },
    },
  },
  async approve({ url }, { rationale }) {
    const card = await until(rationale, async () => cards.find((text) => text.includes(rationale)));
    const press = pressOf({ ts: "1.1", ...JSON.parse(card) }, "approve", { response_url: `http://${host}/response` });
    const call = signedCall(press, slackSecret);
    const { status } = await fetch(`${url}/hooks/slack/interactions`, { method: "POST", ...call });
    if (status !== 200) throw new Error(`the press was answered ${status}`);
  },
});

/** Sends mails to a new identity, answers each and waits until the replies are sent. */
async function answerAll(service: Service, { settings, approve }: Way, count: number): Promise<void> {
  const { client, database, smtpPort } = service;
  const sent = "select count(*) from read.drafts where status = 'sent'";
  const filed = "select count(*) from read.inbound where filed_position is not null";
  const before = { filed: await database.number(filed), sent: await database.number(sent) };
  const { id, email_address } = await client.identity(settings);
  await sendMails(smtpPort, email_address, { count, conversationLength: 1 });
  await untilAtLeast(database, before.filed + count, filed);
  const threads = await threadsOf(client, id);
  await concurrently(agents, threads.length, async (n) => {
    const thread = await client.ask(`GET /v1/threads/${threads[n]}`);
    const draft = await client.ask("POST /v1/drafts", {
      ...{ thread_id: thread.id, identity_id: id, based_on_message_id: thread.messages.at(-1).id },
      body_text: "Dear customer,\n\nyour parcel is in Leeds and arrives tomorrow.\n\nSupport",
      rationale: `The tracking page of ${thread.id} says so.`,
    });
    await approve(service, draft);
  });
  await untilAtLeast(database, before.sent + count, sent);
}

async function threadsOf(client: Client, identityId: string): Promise<string[]> {
  const threads: string[] = [];
  for (let total = 1; threads.length < total; ) {
    const page = await client.ask(`GET /v1/threads?identity_id=${identityId}&limit=100&offset=${threads.length}`);
    threads.push(...page.data.map(({ id }: { id: string }) => id));
    total = page.total;
  }
  return threads;
}

type Chat = { host: string; cards: readonly string[]; stop(): Promise<void> };

/** A stand-in for Slack that takes every message. */
async function startChat(): Promise<Chat> {
  const cards: string[] = [];
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (request.url?.startsWith("/services/")) cards.push(Buffer.concat(parts).toString());
    response.end("ok");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cards,
    async stop() {
      server.closeAllConnections();
      await once(server.close(), "close");
    },
  };
}
