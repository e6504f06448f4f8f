import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SmtpRelay, TakenMail } from "#test/support/smtpRelay.ts";
import { startReceiver } from "#test/support/webhookReceiver.ts";
import { approvalLink, type OutboxMail } from "../support/client.ts";
import { customer, mailOf } from "./conversation.ts";
import { percentile, type Report } from "./proof.ts";
import { openSender, type Sender } from "./sender.ts";
import type { Tenant } from "./tenant.ts";

/** Milliseconds that single mails took. */
export type Times = Record<Stage, number[]>;

export const stages = [
  "mail in to the agent's webhook",
  "mail in to approval mail",
  "approval to handed over",
] as const;
export type Stage = (typeof stages)[number];

/** Somebody with one mail at a time: a customer who writes, an agent that is told by a webhook and drafts, and an approver who presses. */
export type Single = {
  /** `pauseMs` between two of them, and at random up to as much again. */
  measure(rounds: number, report: Report): Promise<Times>;
  close(): Promise<void>;
};

const waitMs = 60_000;
const pauseMs = 50;

/** `tenant`: its identity has an approver who is reached by mail at this address. */
export async function openSingle(
  tenant: Tenant,
  { relay, smtpPort, approver }: { relay: SmtpRelay; smtpPort: number; approver: string },
): Promise<Single> {
  const { client, identity } = tenant;
  const receiver = await startReceiver();
  await client.ask("POST /v1/webhooks", { url: receiver.url, events: ["email.received"] });

  async function round(sender: Sender, times: Times): Promise<void> {
    const [toldSoFar, takenSoFar] = [receiver.requests.length, relay.mails.length];
    const taken = (to: string) =>
      soon(`a mail to ${to}`, () => relay.mails.slice(takenSoFar).find((mail) => mail.to.includes(to)));
    const wrote = performance.now();
    const since = (began: number): number => performance.now() - began;
    const raw = mailOf({ id: `${randomUUID()}@soak.example`, to: identity.email_address });
    const answer = await sender.send(raw, identity.email_address);
    if (!answer.startsWith("250")) throw new Error(`a single mail was refused: ${answer}`);
    const { body } = await soon("email.received", () => receiver.requests[toldSoFar]);
    times["mail in to the agent's webhook"].push(since(wrote));
    await client.ask("POST /v1/drafts", {
      thread_id: body.data.thread_id,
      identity_id: identity.id,
      based_on_message_id: body.data.message_id,
      body_text: "Here it is.",
    });
    const asked = await taken(approver);
    times["mail in to approval mail"].push(since(wrote));
    const press = await client.openApproval(approvalLink({ text: textOf(asked) } as OutboxMail, "approve"), "approve");
    const pressed = performance.now();
    const { status } = await press();
    if (status !== 200) throw new Error(`the approval was answered ${status}`);
    await taken(customer);
    times["approval to handed over"].push(since(pressed));
  }

  return {
    async measure(rounds, report) {
      const times = Object.fromEntries(stages.map((stage) => [stage, [] as number[]])) as Times;
      // One that is silent for a minute is told goodbye.
      const sender = await openSender(smtpPort);
      for (let n = 0; n < rounds; n++) {
        await round(sender, times);
        report.progress(n + 1, rounds, "single mails");
        await sleep(pauseMs * (1 + Math.random()));
      }
      sender.close();
      return times;
    },
    close: () => receiver.stop(),
  };
}

/** `p50 … ms, p99 … ms`. */
export const spread = (values: readonly number[]): string =>
  `p50 ${Math.round(percentile(values, 50))} ms, p99 ${Math.round(percentile(values, 99))} ms`;

/** What lies in this process's memory, seen within 2 ms. */
async function soon<T>(what: string, look: () => T | undefined): Promise<T> {
  const began = performance.now();
  for (;;) {
    const found = look();
    if (found !== undefined) return found;
    if (performance.now() - began > waitMs) throw new Error(`gave up after ${waitMs} ms, waiting for: ${what}`);
    await sleep(2);
  }
}

/** The text of a mail as it is on the wire, of one in quoted-printable too. */
export const textOf = ({ content }: TakenMail): string =>
  content.toString("latin1").replaceAll("=\r\n", "").replaceAll("=3D", "=");
