import { type Bench, concurrently } from "./bench.ts";
import { sendMails } from "./mails.ts";
import { type Service, startService, untilAtLeast, untilCaughtUp } from "./service.ts";

const agents = 8;

/** Does the whole job over sockets: mail in, then for each conversation a draft, its approval and the reply into the outbox. */
export const bench: Bench = {
  size: 400,
  unit: "mails in conversations of four, each answered",
  async run(server, size) {
    const service = await startService(server, await server.database());
    await untilCaughtUp(service);
    await takeIn(service, Math.ceil(size / 4)).then((identityId) => answer(service, identityId));
    let identityId = "";
    await server.measure("mail in, until it is filed", service, async () => {
      identityId = await takeIn(service, size);
      return size;
    });
    await server.measure("reply: draft, approval, sent", service, () => answer(service, identityId));
  },
};

/** Sends mails to a new identity and waits until they are filed. Returns the identity's id. */
async function takeIn({ client, database, smtpPort }: Service, count: number): Promise<string> {
  const filed = "select count(*) from read.inbound where filed_position is not null";
  const before = await database.number(filed);
  const identity = await client.identity();
  await sendMails(smtpPort, identity.email_address, { count });
  await untilAtLeast(database, before + count, filed);
  return identity.id;
}

/** Answers every thread of an identity and waits until the replies are sent. Returns how many there were. */
async function answer({ client, database }: Service, identityId: string): Promise<number> {
  const sent = "select count(*) from read.drafts where status = 'sent'";
  const before = await database.number(sent);
  const threads: string[] = [];
  for (let total = 1; threads.length < total; ) {
    const page = await client.ask(`GET /v1/threads?identity_id=${identityId}&limit=100&offset=${threads.length}`);
    threads.push(...page.data.map(({ id }: { id: string }) => id));
    total = page.total;
  }
  await concurrently(agents, threads.length, async (n) => {
    const thread = await client.ask(`GET /v1/threads/${threads[n]}`);
    const draft = await client.ask("POST /v1/drafts", {
      ...{ thread_id: thread.id, identity_id: identityId, based_on_message_id: thread.messages.at(-1).id },
      body_text: "Dear customer,\n\nyour parcel is in Leeds and arrives tomorrow.\n\nSupport",
      rationale: "The tracking page says so.",
    });
    await client.ask(`POST /v1/drafts/${draft.id}/approve`);
    await client.ask(`POST /v1/drafts/${draft.id}/send`);
  });
  await untilAtLeast(database, before + threads.length, sent);
  return threads.length;
}
