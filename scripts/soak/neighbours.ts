import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { openMailer } from "#test/mail/in/smtpSender.ts";
import { type Installation, openInstallation, type RunningInstance } from "#test/support/installation.ts";
import { textOf } from "#test/support/smtpRelay.ts";
import { approver, askedByMail, customer, openTenant, sendMail, submit, type Tenant } from "#test/support/tenant.ts";
import { startReceiver } from "#test/support/webhookReceiver.ts";
import { approvalLink } from "../support/client.ts";
import type { JudgedInstallation } from "./evidence.ts";
import { ends, untilAll } from "./many.ts";
import { startAttack } from "./neighbourAttacks.ts";
import { pauseDrafts, queueDeliveries, startDeadHost, startStream, untilSetAside } from "./neighbourLoads.ts";
import { type Proof, spread } from "./proof.ts";

const mailsPerMinute = 1_000;
const giveUpMs = 60_000;

/** Milliseconds for which an approval by link can be undone. */
const undoMs = 10_000;
/** Maximum factor by which each step of a single mail may be slower with a costly neighbour, at full size. */
const mostTimes = 3;
/** Maximum number of milliseconds for a single mail at full size, from the customer's hand-over to the hand-over of the answer. */
const mostMs = 4_000;

export const neighbours: Proof = {
  name: "neighbours",
  title: `single mails go their way within ${mostMs / 1_000} s besides a workspace with paused drafts, which are all sent later, one with webhooks to a dead host, and one with ${mailsPerMinute} mails a minute; besides one that asks for what is costly as often as it may, they and /healthz take at most ${mostTimes} times as long as alone`,
  unit: "paused drafts, and as many due webhooks",
  full: 10_000,
  checked: 200,
  sample: 20,
  async run({ size, report }) {
    const host = await startDeadHost();
    const receiver = await startReceiver();
    const env = {
      HAND_OVER_SECONDS: "60",
      WEBHOOK_ALLOWED_HOSTS: "127.0.0.1",
      // An undeliverable webhook is retried again and again.
      WEBHOOK_RETRY_SECONDS: Array.from({ length: 50 }, () => "60").join(","),
    };
    const installation = await openInstallation({ env, here: size <= neighbours.sample });
    const judged = { installation, report };
    try {
      const instance = await installation.run();
      const [single, paused, webhooks, busy, costly] = [
        await openTenant(installation, instance, askedByMail),
        await openTenant(installation, instance),
        await openTenant(installation, instance),
        await openTenant(installation, instance),
        await openTenant(installation, instance),
      ];
      await single.at(instance).ask("POST /v1/webhooks", { url: receiver.url, events: ["email.received"] });
      const rounds = Math.min(100, Math.max(3, Math.round(size / 20)));
      const measure = async (when: string, of = rounds): Promise<void> => {
        const took: number[] = [];
        for (let round = 0; round < of; round++) {
          const { asked, sent } = await singleMail({ installation, instance, single, receiver });
          took.push(asked + sent);
          report.progress(round + 1, of, `single mails, ${when}`);
          await sleep(50 + 50 * Math.random());
        }
        report.figure(`a single mail's way, ${when}`, spread(took));
        // A sample proves nothing about speed.
        const worst = Math.max(...took);
        if (size >= 1_000 && worst > mostMs) report.violation(`a single mail took ${Math.round(worst)} ms ${when}`);
      };
      // The first mail compiles the code that a mail needs.
      await singleMail({ installation, instance, single, receiver });
      await measure("alone");
      await besidesCostly(
        judged,
        { instance, single, costly, receiver },
        { rounds, isJudged: size >= 1_000, isHere: size <= neighbours.sample },
      );
      const drafts = await pauseDrafts(judged, { tenant: paused, instance }, size);
      await queueDeliveries(judged, { tenant: webhooks, instance, host }, size);
      const endStream = await startStream(judged, { tenant: busy, instance }, mailsPerMinute);
      await measure("besides the three");
      const agent = paused.at(instance);
      // A new name wakes no lane; enabling an identity wakes all of them, while sending in their workspace is still paused.
      await agent.ask("PATCH /v1/workspaces/me", { name: "Renamed" });
      for (const status of ["disabled", "active"])
        await agent.ask(`PATCH /v1/identities/${paused.identity.id}`, { status });
      await measure("while every paused draft is looked at again", Math.ceil(rounds / 2));
      await untilSetAside(judged, paused, size);
      await agent.ask("PATCH /v1/workspaces/me", { sending_paused: false });
      await measure("while every paused draft is sent", Math.ceil(rounds / 2));
      await untilAll(judged, { types: ends, drafts });
      report.figure("mails to the busy one, all filed", await endStream());
    } finally {
      await installation.close();
      await receiver.stop();
      host.close();
    }
  },
};

type SingleMailSetup = {
  installation: Installation;
  instance: RunningInstance;
  single: Tenant;
  receiver: Awaited<ReturnType<typeof startReceiver>>;
};

/**
 * Measures single mails and /healthz, first alone and then with a tenant at its limits. The event loop's delay is only measured if the
 * instance runs in this process: then it is that of both.
 */
async function besidesCostly(
  { installation, report }: JudgedInstallation,
  { costly, ...way }: Omit<SingleMailSetup, "installation"> & { costly: Tenant },
  { rounds, isJudged, isHere }: { rounds: number; isJudged: boolean; isHere: boolean },
): Promise<void> {
  const measure = async (when: string) => {
    const took = { asked: [] as number[], sent: [] as number[], healthz: [] as number[] };
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    for (let round = 0; round < rounds; round++) {
      const { asked, sent } = await singleMail({ installation, ...way });
      took.asked.push(asked);
      took.sent.push(sent);
      for (let look = 0; look < 5; look++) {
        const began = performance.now();
        const { status } = await fetch(new URL("/healthz", way.instance.url));
        if (status !== 200) report.violation(`/healthz answered ${status} ${when}`);
        took.healthz.push(performance.now() - began);
        await sleep(20);
      }
      report.progress(round + 1, rounds, `single mails, ${when}`);
    }
    delay.disable();
    report.figure(`mail in to approval mail, ${when}`, spread(took.asked));
    report.figure(`approve to handed over, ${when}`, spread(took.sent));
    report.figure(`/healthz, ${when}`, spread(took.healthz));
    const delayed = `${Math.round(delay.percentile(99) / 1e6)} ms in 99 of 100 looks, most ${Math.round(delay.max / 1e6)} ms`;
    if (isHere) report.figure(`delay of the event loop, ${when}`, delayed);
    return took;
  };
  const alone = await measure("alone, part by part");
  const endAttack = await startAttack(installation, { tenant: costly, instance: way.instance });
  const beside = await measure("besides a tenant that asks for what is costly");
  report.figure("what that tenant was answered", JSON.stringify(await endAttack()));
  if (!isJudged) return;
  for (const part of ["asked", "sent", "healthz"] as const) {
    const times = Math.max(...beside[part]) / Math.max(...alone[part]);
    if (times > mostTimes)
      report.violation(`besides a costly tenant ${part} took ${times.toFixed(1)} times as long as alone`);
  }
}

/**
 * Plays one mail: a customer writes, the agent's webhook is called and it drafts, the approver is asked and presses, the answer is handed
 * over. Returns milliseconds.
 */
async function singleMail({
  installation: { relay },
  instance,
  single,
  receiver,
}: SingleMailSetup): Promise<{ asked: number; sent: number }> {
  const client = single.at(instance);
  const [called, taken] = [receiver.requests.length, relay.mails.length];
  const mailTo = (to: string) => soon(() => relay.mails.slice(taken).find((mail) => mail.to.includes(to)));
  // A connection that is idle for a minute is closed, so each mail gets its own.
  const mailer = await openMailer(instance.smtpPort);
  const began = performance.now();
  await sendMail(single, { mailer });
  mailer.close();
  const { thread_id: threadId, message_id: messageId } = (await soon(() => receiver.requests[called])).body.data;
  await submit(client, { threadId, messageId, identityId: single.identity.id });
  const asking = await mailTo(approver);
  const pressed = performance.now();
  const { status } = await client.press(approvalLink({ text: textOf(asking) }, "approve"), "approve");
  if (status !== 200) throw new Error(`the approval was answered ${status}`);
  await mailTo(customer);
  // The mail is not sent before the time to undo the approval is over.
  return { asked: pressed - began, sent: performance.now() - pressed - undoMs };
}

/** Polls every 2 ms for something in this process's memory. */
async function soon<T>(find: () => T | undefined): Promise<T> {
  for (const began = performance.now(); performance.now() - began < giveUpMs; await sleep(2)) {
    const found = find();
    if (found !== undefined) return found;
  }
  throw new Error(`gave up after ${giveUpMs} ms, waiting for: ${find}`);
}
