import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../support/client.ts";
import type { Instance } from "../support/instance.ts";
import { type Identity, mailOf } from "./conversation.ts";
import { openSender, type Sender } from "./sender.ts";
import type { World } from "./world.ts";

/** A customer and an agent at work on an instance that may die at any moment. */
export type Load = {
  /** Message-IDs that were told 250. */
  readonly acknowledged: readonly string[];
  /** Drafts whose submission was answered. */
  readonly drafts: readonly string[];
  /** Points them to another instance. */
  at(instance: Instance): void;
  /** Resolves when what they had begun is over. */
  stop(): Promise<void>;
};

/** Questions and answers to them, mail after mail; every filed question is drafted on and sent. Refusals and lost connections are part of it. */
export function startLoad(world: World, identity: Identity, first: Instance): Load {
  const acknowledged: string[] = [];
  const drafts: string[] = [];
  let instance = first;
  let client = world.client(first);
  let stopping = false;

  async function customer(): Promise<void> {
    let sender: Sender | undefined;
    let previous: string | undefined;
    while (!stopping) {
      try {
        sender ??= await openSender(instance.smtpPort);
        const id = `${randomUUID()}@soak.example`;
        const raw = mailOf({
          id,
          to: identity.email_address,
          inReplyTo: acknowledged.length % 3 === 1 ? previous : undefined,
        });
        const told = await sender.send(raw, identity.email_address);
        if (told.startsWith("250")) {
          previous = `<${id}>`;
          acknowledged.push(previous);
        }
      } catch {
        sender?.close();
        sender = undefined;
      }
      await sleep(40);
    }
    sender?.close();
  }

  async function agent(): Promise<void> {
    const answered = new Set<string>();
    while (!stopping) {
      await work(client, identity, answered, drafts).catch(() => {});
      await sleep(20);
    }
  }

  const running = Promise.all([customer(), agent()]);
  return {
    acknowledged,
    drafts,
    at(next) {
      instance = next;
      client = world.client(next);
    },
    async stop() {
      stopping = true;
      await running;
    },
  };
}

async function work(client: Client, identity: Identity, answered: Set<string>, drafts: string[]): Promise<void> {
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
  await client.api(`POST /v1/drafts/${draft.id}/send`);
}
