import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { approvalLink, type Client, type OutboxMail, until } from "../support/client.ts";
import { approver, type Identity, mailOf } from "./conversation.ts";
import { openSender, type Sender } from "./sender.ts";
import type { Reached, World } from "./world.ts";

/** A customer and an agent at work on an instance that may die at any moment. */
export type Load = {
  /** Message-IDs that were answered 250. */
  readonly acknowledged: readonly string[];
  /** Drafts whose submission was answered. */
  readonly drafts: readonly string[];
  /** Points them to another instance; `resting`, they ask it for little. */
  at(instance: Reached, how?: { resting?: boolean }): void;
  /** Resolves when what they had begun is over. */
  stop(): Promise<void>;
};

/** Between two mails, and between two drafts: under load as long as it lasts, and unhurried, for a sample. */
const hurried = { mailMs: 40, draftMs: 20 };
const slow = { mailMs: 150, draftMs: 80 };
const slowest = { mailMs: 800, draftMs: 400 };

/** Questions and answers to them, mail after mail; every filed question is drafted on and sent. Refusals and lost connections are part of it. */
export function startLoad(
  world: World,
  identity: Identity,
  { instance: first, unhurried = false }: { instance: Reached; unhurried?: boolean },
): Load {
  const usual = unhurried ? slow : hurried;
  let pauses = usual;
  const acknowledged: string[] = [];
  const drafts: string[] = [];
  let instance = first;
  let client = world.client(first);
  let stopping = false;

  async function customer(): Promise<void> {
    let sender: Sender | undefined;
    while (!stopping) {
      try {
        sender ??= await openSender(instance.smtpPort);
        const id = `${randomUUID()}@soak.example`;
        const raw = mailOf({
          id,
          to: identity.email_address,
          inReplyTo: namedBy(acknowledged),
        });
        const told = await sender.send(raw, identity.email_address);
        if (told.startsWith("250")) {
          acknowledged.push(`<${id}>`);
        }
      } catch {
        sender?.close();
        sender = undefined;
      }
      await sleep(pauses.mailMs);
    }
    sender?.close();
  }

  async function agent(): Promise<void> {
    const answered = new Set<string>();
    while (!stopping) {
      await work({ client, instance, identity }, answered, drafts).catch(() => {});
      await sleep(pauses.draftMs);
    }
  }

  const running = Promise.all([customer(), agent()]);
  return {
    acknowledged,
    drafts,
    at(next, { resting = false } = {}) {
      pauses = resting ? slowest : usual;
      instance = next;
      client = world.client(next);
    },
    async stop() {
      stopping = true;
      await running;
    },
  };
}

/** Of every six mails one answers the last, and one joins two threads. */
function namedBy(acknowledged: readonly string[]): string | undefined {
  if (acknowledged.length % 6 === 2) return acknowledged.at(-1);
  return acknowledged.length % 6 === 5 ? `${acknowledged.at(-1)} ${acknowledged.at(-2)}` : undefined;
}

async function work(
  { client, instance, identity }: { client: Client; instance: Reached; identity: Identity },
  answered: Set<string>,
  drafts: string[],
): Promise<void> {
  const { data } = await client.ask(`GET /v1/threads?identity_id=${identity.id}&limit=20`);
  const thread = data.find((each: { id: string }) => !answered.has(each.id));
  if (!thread) return;
  answered.add(thread.id);
  const { messages } = await client.ask(`GET /v1/threads/${thread.id}`);
  const newest = messages.filter((message: { direction: string }) => message.direction === "inbound").at(-1);
  const draft = await client.ask("POST /v1/drafts", {
    thread_id: thread.id,
    identity_id: identity.id,
    based_on_message_id: newest.id,
    body_text: "Here it is.",
  });
  drafts.push(draft.id);
  if (drafts.length % 2 === 0) await client.api(`POST /v1/drafts/${draft.id}/send`);
  else await approveByLink(client, instance);
}

/** Presses Approve in the newest approval mail. */
async function approveByLink(client: Client, { url }: Reached): Promise<void> {
  const newest = await until("an approval mail", async () => {
    const page = await (await fetch(`${url}/outbox`)).text();
    return /\/outbox\/(\d+)/.exec(page)?.[1];
  });
  const mails = (await (await fetch(`${url}/outbox.json?after=${Number(newest) - 5}`)).json()) as OutboxMail[];
  const asked = mails.findLast(({ to }) => to.includes(approver));
  if (asked) await client.press(approvalLink(asked, "approve"), "approve");
}
