import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SmtpRelay } from "#test/support/smtpRelay.ts";
import { type Answer, approvalLink, type Client, type OutboxMail, until } from "../support/client.ts";
import { approver, type Identity, mailOf } from "./conversation.ts";
import { openSender, type Sender } from "./sender.ts";
import { textOf } from "./single.ts";
import type { Reached, World } from "./world.ts";

/** A customer and an agent at work on an instance that may die at any moment. */
export type Load = {
  /** Message-IDs that were answered 250. */
  readonly acknowledged: readonly string[];
  /** Answers to mails that were answered otherwise. */
  readonly refused: readonly string[];
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

/** A submission whose answer was lost, as its Idempotency-Key and its body. */
type Submission = { key: string; body: object };

/** How long one that is being worked on is refused at most, and some more. */
const repeatedForMs = 90_000;
const repeatEveryMs = 200;
/** The one that is waited for may be on an instance that was just killed. */
const approvalMailMs = 3_000;
/** So many drafts that a kill left undecided are sent between two new ones. */
const leftOverAtOnce = 5;

/**
 * Questions and answers to them, mail after mail; every filed question is drafted on and sent. Refusals and lost connections are part of it. A
 * submission whose answer was lost is repeated under its Idempotency-Key until there is one.
 */
export function startLoad(
  world: World,
  identity: Identity,
  { instance: first, unhurried = false }: { instance: Reached; unhurried?: boolean },
): Load {
  const usual = unhurried ? slow : hurried;
  let pauses = usual;
  const acknowledged: string[] = [];
  const refused: string[] = [];
  const drafts: string[] = [];
  const unanswered: Submission[] = [];
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
        if (told.startsWith("250")) acknowledged.push(`<${id}>`);
        else {
          refused.push(told);
          // What was begun with it is over, as for a server that comes again.
          sender.close();
          sender = undefined;
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
      await sendLeftOver(client).catch(() => {});
      await work({ client, instance, identity, relay: world.relay }, { answered, drafts, unanswered }).catch(() => {});
      await sleep(pauses.draftMs);
    }
  }

  async function repeater(): Promise<void> {
    let stoppedAt: number | undefined;
    while (!stopping || unanswered.length > 0) {
      if (stopping) stoppedAt ??= Date.now();
      // A sample has no time to wait for what an instance that is gone was at.
      if (stoppedAt !== undefined && (unhurried || Date.now() - stoppedAt > repeatedForMs)) return;
      const next = unanswered.shift();
      if (next) await submit(client, next, { drafts, unanswered }).catch(() => {});
      await sleep(repeatEveryMs);
    }
  }

  const running = Promise.all([customer(), agent(), repeater()]);
  return {
    acknowledged,
    refused,
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

type Agent = { client: Client; instance: Reached; identity: Identity; relay: SmtpRelay | undefined };
type Done = { answered: Set<string>; drafts: string[]; unanswered: Submission[] };

async function work({ client, instance, identity, relay }: Agent, done: Done): Promise<void> {
  const { answered, drafts } = done;
  const { data } = await client.ask(`GET /v1/threads?identity_id=${identity.id}&limit=20`);
  const thread = data.find((each: { id: string }) => !answered.has(each.id));
  if (!thread) return;
  answered.add(thread.id);
  const { messages } = await client.ask(`GET /v1/threads/${thread.id}`);
  const newest = messages.filter((message: { direction: string }) => message.direction === "inbound").at(-1);
  const key = randomUUID();
  const body = {
    thread_id: thread.id,
    identity_id: identity.id,
    based_on_message_id: newest.id,
    body_text: "Here it is.",
    rationale: key,
  };
  const since = relay?.mails.length ?? 0;
  const id = await submit(client, { key, body }, done);
  if (drafts.length % 2 === 0) await client.api(`POST /v1/drafts/${id}/send`);
  else await (relay ? approveByMail(client, { relay, key, since }) : approveByLink(client, instance));
}

/**
 * Sends what was cut off before anybody decided it. Left alone it would add up: approvers with many open requests get one mail for all of them
 * every quarter of an hour, and this load would never approve anything again.
 */
async function sendLeftOver(client: Client): Promise<void> {
  const { data } = await client.ask(`GET /v1/drafts?status=pending&limit=${leftOverAtOnce}`);
  for (const { id } of data) await client.api(`POST /v1/drafts/${id}/send`);
}

/** Answers its id. One that was not answered, or is being worked on, is left to be repeated. Throws where there is no draft. */
async function submit(
  client: Client,
  submission: Submission,
  { drafts, unanswered }: Pick<Done, "drafts" | "unanswered">,
): Promise<string> {
  let answer: Answer | undefined;
  try {
    answer = await client.api("POST /v1/drafts", submission.body, { "idempotency-key": submission.key });
  } finally {
    if (answer === undefined || answer.status >= 500 || answer.body?.error === "idempotency_in_flight")
      unanswered.push(submission);
  }
  if (answer.status !== 201) throw new Error(`no draft: ${answer.status}`);
  drafts.push(answer.body.id);
  return answer.body.id;
}

/** Presses Approve in the approval mail about this submission, once the relay has taken it. */
async function approveByMail(
  client: Client,
  { relay, key, since }: { relay: SmtpRelay; key: string; since: number },
): Promise<void> {
  const asks = (mail: SmtpRelay["mails"][number]) => mail.to.includes(approver) && textOf(mail).includes(key);
  const asked = await until("the approval mail", async () => relay.mails.slice(since).find(asks), approvalMailMs);
  await client.press(approvalLink({ text: textOf(asked) } as OutboxMail, "approve"), "approve");
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
