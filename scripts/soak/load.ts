import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Mailer, openMailer } from "#test/mail/in/smtpSender.ts";
import { mail } from "#test/support/inProcess.ts";
import type { Installation, RunningInstance } from "#test/support/installation.ts";
import { textOf } from "#test/support/smtpRelay.ts";
import { approver, type Tenant } from "#test/support/tenant.ts";
import { approvalLink, type Client, type ClientAnswer, until } from "../support/client.ts";

/** A customer and an agent at work on an instance that may die at any moment. */
export type Load = {
  /** Message-IDs that the receiver answered 250. */
  readonly acknowledged: readonly string[];
  /** The receiver's answers to the other mails. */
  readonly refused: readonly string[];
  /** Drafts whose submission got an answer. */
  readonly drafts: readonly string[];
  /** Moves both to another instance. */
  at(instance: RunningInstance): void;
  /** Ends the work; resolves when every request that was begun is answered or abandoned. */
  stop(): Promise<void>;
};

/** Milliseconds of pause after a mail and after a draft; `unhurried`: for a sample. */
const pausesMs = { hurried: { mail: 40, draft: 20 }, unhurried: { mail: 150, draft: 80 } };
/** Milliseconds of repeating: a submission that a dead instance had begun is refused for up to a minute. */
const repeatedForMs = 90_000;
const repeatEveryMs = 200;
/** Milliseconds of waiting for an approval mail, which an instance that was just killed may have been about to write. */
const approvalMailMs = 3_000;
/** Number of drafts left undecided by kills that are sent before each new draft. */
const leftOverAtOnce = 5;

/**
 * Sends questions and answers to them, mail after mail. Refusals and lost connections are expected: a submission without an answer is
 * repeated under its Idempotency-Key until it gets one; every other draft is approved by mail, the others are sent by the agent.
 */
export function startLoad(
  installation: Installation,
  tenant: Tenant,
  { instance: first, unhurried = false }: { instance: RunningInstance; unhurried?: boolean },
): Load {
  const pauses = pausesMs[unhurried ? "unhurried" : "hurried"];
  const acknowledged: string[] = [];
  const refused: string[] = [];
  const drafts: string[] = [];
  const repetitions: Promise<void>[] = [];
  let instance = first;
  let stoppedAt: number | undefined;
  const client = (): Client => tenant.at(instance);

  async function customer(): Promise<void> {
    let mailer: Mailer | undefined;
    for (; stoppedAt === undefined; await sleep(pauses.mail)) {
      const id = `${randomUUID()}@customer.example`;
      const to = tenant.identity.email_address;
      const raw = Buffer.from(mail({ id, to, inReplyTo: answeredBy(acknowledged) }));
      try {
        mailer ??= await openMailer(instance.smtpPort);
        const told = await mailer.send(raw, to);
        if (told.startsWith("250")) {
          acknowledged.push(`<${id}>`);
          continue;
        }
        refused.push(told);
      } catch {
        // The instance has ended.
      }
      mailer?.close();
      mailer = undefined;
    }
    mailer?.close();
  }

  async function agent(): Promise<void> {
    const seen = new Set<string>();
    for (; stoppedAt === undefined; await sleep(pauses.draft)) {
      await sendLeftOver(client()).catch(() => {});
      await answerOne(seen).catch(() => {});
    }
  }

  async function answerOne(seen: Set<string>): Promise<void> {
    const { data } = await client().ask(`GET /v1/threads?identity_id=${tenant.identity.id}&limit=20`);
    const thread = data.find(({ id }: { id: string }) => !seen.has(id));
    if (!thread) return;
    seen.add(thread.id);
    const { messages } = await client().ask(`GET /v1/threads/${thread.id}`);
    const newest = messages.findLast(({ direction }: { direction: string }) => direction === "inbound");
    const key = randomUUID();
    const body = {
      ...{ thread_id: thread.id, identity_id: tenant.identity.id, based_on_message_id: newest.id },
      ...{ body_text: "Here it is.", rationale: key },
    };
    const since = installation.relay.mails.length;
    const submitted = await submit(key, body);
    if (submitted === "unanswered") repetitions.push(repeat(key, body));
    else if (submitted && drafts.length % 2 === 0) await client().api(`POST /v1/drafts/${submitted.id}/send`);
    else if (submitted) await approve(key, since);
  }

  /** Returns the draft, or undefined if there is none. */
  async function submit(key: string, body: object): Promise<{ id: string } | "unanswered" | undefined> {
    const lost = { status: 500 } as ClientAnswer;
    const { status, body: answer } = await client()
      .api("POST /v1/drafts", body, { "idempotency-key": key })
      .catch(() => lost);
    if (status >= 500 || answer?.error === "idempotency_in_flight") return "unanswered";
    if (status !== 201) return undefined;
    drafts.push(answer.id);
    return answer;
  }

  /** Repeats the submission until it is answered. In a sample it ends with the work: there is no time to wait for a dead instance's run. */
  async function repeat(key: string, body: object): Promise<void> {
    do {
      await sleep(repeatEveryMs);
      if (stoppedAt !== undefined && (unhurried || Date.now() - stoppedAt > repeatedForMs)) return;
    } while ((await submit(key, body)) === "unanswered");
  }

  /** Presses Approve in the mail about this submission, once the relay has taken it. */
  async function approve(key: string, since: number): Promise<void> {
    const mails = async () =>
      installation.relay.mails.slice(since).find((each) => each.to.includes(approver) && textOf(each).includes(key));
    const asking = await until("the approval mail", mails, approvalMailMs);
    await client().press(approvalLink({ text: textOf(asking) }, "approve"), "approve");
  }

  const working = Promise.all([customer(), agent()]);
  return {
    acknowledged,
    refused,
    drafts,
    at(next) {
      instance = next;
    },
    async stop() {
      stoppedAt = Date.now();
      await working;
      await Promise.all(repetitions);
    },
  };
}

/** Chooses the mails that this one answers: of every six mails one answers the mail before it, and one joins two threads. */
function answeredBy(acknowledged: readonly string[]): string[] {
  const count = { 2: 1, 5: 2 }[acknowledged.length % 6] ?? 0;
  return acknowledged.slice(acknowledged.length - count).map((id) => id.slice(1, -1));
}

/**
 * Sends undecided drafts: they would accumulate, and approvers with many open requests get only one mail for all of them per quarter of
 * an hour.
 */
async function sendLeftOver(client: Client): Promise<void> {
  const { data } = await client.ask(`GET /v1/drafts?status=pending&limit=${leftOverAtOnce}`);
  for (const { id } of data) await client.api(`POST /v1/drafts/${id}/send`);
}
