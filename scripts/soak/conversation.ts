import { randomUUID } from "node:crypto";
import { type Client, until } from "../support/client.ts";
import type { World } from "./world.ts";

/** A customer's question on its own thread, as far as the agent has read it. */
export type Conversation = {
  threadId: string;
  identity: { id: string; email_address: string };
  messageId: string;
  rfcMessageId: string;
};

export type Identity = { id: string; email_address: string };

export const customer = "customer@soak.example";
export const approver = "approver@example.com";

/** A plain mail with the line ends of the wire. */
export function mailOf({
  id,
  to,
  inReplyTo,
  text = "Where is it?",
}: {
  id: string;
  to: string;
  inReplyTo?: string;
  text?: string;
}): Buffer {
  const lines = [
    `Message-ID: <${id}>`,
    `From: Customer <${customer}>`,
    `To: ${to}`,
    "Subject: My order",
    "Date: Mon, 16 Nov 2026 10:00:00 +0000",
    ...(inReplyTo ? [`In-Reply-To: ${inReplyTo}`, `References: ${inReplyTo}`] : []),
    "",
    text,
    "",
  ];
  return Buffer.from(lines.join("\r\n"));
}

/** A question comes in and is filed. */
export async function ask(
  world: World,
  identity: Identity,
  send: (raw: Buffer, to: string) => Promise<string>,
): Promise<Conversation> {
  const id = `${randomUUID()}@soak.example`;
  const told = await send(mailOf({ id, to: identity.email_address }), identity.email_address);
  if (!told.startsWith("250")) throw new Error(`the question was refused: ${told}`);
  return filed(world, identity, `<${id}>`);
}

/** Waits until this mail can be read on its thread. */
export async function filed(world: World, identity: Identity, rfcMessageId: string): Promise<Conversation> {
  const found = await until(`${rfcMessageId} on its thread`, async () => {
    const sql = "select id, thread_id from read.messages where identity_id = $1 and rfc_message_id = $2";
    const [message] = await world.rows<{ id: string; thread_id: string }>(sql, [identity.id, rfcMessageId]);
    return message && { threadId: message.thread_id, messageId: message.id };
  });
  return { ...found, identity, rfcMessageId };
}

export const submit = (client: Client, { threadId, identity, messageId }: Conversation, text = "Here it is.") =>
  client.ask("POST /v1/drafts", {
    thread_id: threadId,
    identity_id: identity.id,
    based_on_message_id: messageId,
    body_text: text,
  });

const finalStates = ["sent", "failed", "stale", "rejected"];

export const endOf = (
  client: Client,
  draftId: string,
  timeoutMs = 30_000,
): Promise<{ id: string; status: string; failure_code: string | null }> =>
  until(
    `the end of draft ${draftId}`,
    async () => {
      const draft = await client.ask(`GET /v1/drafts/${draftId}`);
      return finalStates.includes(draft.status) && draft;
    },
    timeoutMs,
  );
