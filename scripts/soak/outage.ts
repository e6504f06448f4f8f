import { setTimeout as sleep } from "node:timers/promises";
import { openInstallation } from "#test/support/installation.ts";
import { startStoppableServer } from "#test/support/stoppableServer.ts";
import { askedByMail, openTenant } from "#test/support/tenant.ts";
import { type Client, until } from "../support/client.ts";
import { startLoad } from "./load.ts";
import { submitMany } from "./many.ts";
import { inParallel, type Proof } from "./proof.ts";
import { settle } from "./settled.ts";

/** Milliseconds of load before the stop, and after the service is ready again. */
const besidesMs = 5_000;
/** Milliseconds before the stop: a mail acknowledged before that has its answer by the stop. */
const inFlightMs = 2_000;
/** Milliseconds within which the service reconnects, however long its database was away: at full size, on an otherwise idle machine. */
const readyWithinMs = 30_000;
/** Longer than the outage at full size plus the recovery, in milliseconds. */
const waitMs = 300_000;
/** Drafts that are being sent at the moment of the stop. */
const replies = { count: 60, beforeStopMs: 1_500 };

/** Stops a real server and starts it again with its data. Shorter outages of every kind are in test/outages.test.ts. */
export const outage: Proof = {
  name: "outage",
  title:
    "PostgreSQL stopped while mail comes in, is approved and sent: the service outlives it, no mail is lost, and everything comes to its end",
  unit: "seconds without PostgreSQL",
  full: 60,
  checked: 15,
  sample: 3,
  async run({ size, report }) {
    const server = await startStoppableServer();
    // A slow relay, so that the stop interrupts hand-overs.
    const installation = await openInstallation({ database: server.urls, relay: { answersAfterMs: { dot: 200 } } });
    const judged = { installation, report };
    try {
      const instance = await installation.start();
      const quiet = await openTenant(installation, instance);
      const busy = await openTenant(installation, instance, askedByMail);
      const client = quiet.at(instance);
      const drafts = await submitMany(judged, { tenant: quiet, instance }, replies.count);
      const load = startLoad(installation, busy, { instance });
      await sleep(besidesMs);
      const sends = sendAll(client, drafts);
      await sleep(replies.beforeStopMs);
      await server.stop();
      await sleep(inFlightMs);
      const before = load.acknowledged.length;
      for (let seconds = 0; seconds < size; seconds++) {
        report.progress(seconds, size, "seconds without PostgreSQL");
        await sleep(1_000);
      }
      report.figure("mails acknowledged before", before);
      report.figure("mails refused for now", load.refused.length);
      const meanwhile = load.acknowledged.length - before;
      if (meanwhile > 0) report.violation(`${meanwhile} mails were acknowledged that nothing can have stored`);
      if (load.refused.length === 0) report.violation("no mail came while PostgreSQL was stopped");

      await server.start();
      const startedAt = performance.now();
      await until("ready again", async () => (await fetch(`${instance.url}/readyz`)).status === 200, waitMs);
      const readyMs = Math.round(performance.now() - startedAt);
      report.figure("ready again after, ms", readyMs);
      if (size >= outage.full && readyMs > readyWithinMs) report.violation(`ready again only after ${readyMs} ms`);
      await until("the next mail that is acknowledged", async () => load.acknowledged.length > before, waitMs);
      await sleep(besidesMs);
      await Promise.all([load.stop(), sends]);
      for (const told of load.refused.filter((each) => !each.startsWith("4")))
        report.violation(`a mail was answered ${told}`);
      await inParallel(drafts, 4, async (id) => {
        const status = await until(`the end of reply ${id}`, async () => overOf(await statusOf(client, id)));
        if (status !== "sent" && status !== "failed") report.violation(`reply ${id} ended ${status}`);
      });
      await settle(judged, { client: busy.at(instance), load });
      const { exitCode, signalCode } = instance.child;
      if (exitCode !== null || signalCode !== null) report.violation(`the service ended: ${exitCode ?? signalCode}`);
    } finally {
      await installation.close();
      await server.close();
    }
  },
};

/** Repeats a send after a lost answer or a temporary refusal, until the draft is queued or is neither pending nor approved. */
const sendAll = (client: Client, drafts: readonly string[]): Promise<void> =>
  inParallel(drafts, 8, async (id) => {
    const isSent = async (): Promise<boolean> => {
      const answer = await client.api(`POST /v1/drafts/${id}/send`).catch(() => undefined);
      if (answer === undefined || answer.status >= 500) return false;
      return answer.status < 300 || !["pending", "approved"].includes(await statusOf(client, id));
    };
    await until(`draft ${id} to be sent`, isSent, waitMs);
  });

const statusOf = async (client: Client, id: string): Promise<string> =>
  (await client.api(`GET /v1/drafts/${id}`)).body?.status ?? "pending";

const overOf = (status: string): string | undefined =>
  ["pending", "approved", "sending"].includes(status) ? undefined : status;
