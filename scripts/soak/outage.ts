import { setTimeout as sleep } from "node:timers/promises";
import { startSmtpRelay } from "#test/support/smtpRelay.ts";
import { type Client, until } from "../support/client.ts";
import { cpuSecondsOf } from "../support/cpuSeconds.ts";
import { ask, type Identity, submit } from "./conversation.ts";
import { startLoad } from "./load.ts";
import { inParallel, type Proof } from "./proof.ts";
import { openSender } from "./sender.ts";
import { settle } from "./settled.ts";
import { startStoppableServer } from "./stoppable.ts";
import { openWorld, type World } from "./world.ts";

/** How long there is load before the stop, and after the service is ready again. */
const besideMs = 5_000;
/** By then who was told of a mail before the stop has its answer. */
const inFlightMs = 2_000;
/** The service looks for its database again within seconds, however long that was away: at full size, on a machine that does nothing else. */
const readyWithinMs = 30_000;
const givenUpAfterMs = 300_000;
/** Longer than the outage at full size, and until everything is ready again. */
const sendsWithinMs = 300_000;
/** So long the relay takes after the final dot: a stop meets hand-overs that are under way. */
const answersAfterMs = { dot: 200 };
/** Drafts that are sent at the moment of the stop, on as many threads. */
const replies = { threads: 3, perThread: 20, beforeStopMs: 1_500 };

/** A server that is really gone, whose data are there when it comes back. Shorter outages of every kind are in test/outages.test.ts. */
export const outage: Proof = {
  name: "outage",
  title:
    "PostgreSQL stopped while mail comes in, is approved and leaves: the service outlives it and everything comes to its end",
  unit: "seconds without PostgreSQL",
  full: 60,
  checked: 15,
  sample: 3,
  async run(size, report) {
    const relay = await startSmtpRelay([], { answersAfterMs });
    const server = await startStoppableServer();
    const world = await openWorld({}, { relay, on: server.urls });
    try {
      const instance = await world.start();
      const client = world.client(instance);
      const quiet = await client.identity({ approval_channel: undefined });
      const drafts = await submitted({ world, client, smtpPort: instance.smtpPort }, quiet);
      const load = startLoad(world, await client.identity(), { instance });
      await sleep(besideMs);
      const sends = sendAll(client, drafts);
      await sleep(replies.beforeStopMs);
      await server.stop();
      const stoppedAt = performance.now();
      await sleep(inFlightMs);
      const [before, cpuBefore] = [load.acknowledged.length, cpuSecondsOf(instance.child.pid!)];
      const handedOver = relay.mails.length;
      while (performance.now() - stoppedAt < size * 1_000) {
        report.progress(Math.round((performance.now() - stoppedAt) / 1_000), size, "seconds without PostgreSQL");
        await sleep(250);
      }
      const meanwhile = load.acknowledged.length - before;
      report.figure("mails acknowledged before, meanwhile", `${before}, ${meanwhile}`);
      report.figure("replies handed over before", handedOver);
      report.figure("mails told to come again", load.refused.length);
      report.figure("replies handed over meanwhile", relay.mails.length - handedOver);
      report.figure("CPU seconds of the service meanwhile", (cpuSecondsOf(instance.child.pid!) - cpuBefore).toFixed(1));
      if (meanwhile > 0) report.violation(`${meanwhile} mails were acknowledged that nothing can have stored`);
      if (load.refused.length === 0) report.violation("no mail came while PostgreSQL was stopped");

      await server.start();
      const startedAt = performance.now();
      const seconds = () => ((performance.now() - startedAt) / 1_000).toFixed(1);
      const isReady = async () => (await fetch(`${instance.url}/readyz`)).status === 200;
      await until("the service to be ready", isReady, givenUpAfterMs);
      report.figure("ready again after, s", seconds());
      if (size >= this.full && performance.now() - startedAt > readyWithinMs)
        report.violation(`ready again only after ${seconds()} s`);
      await until("the next mail that is acknowledged", async () => load.acknowledged.length > before, givenUpAfterMs);
      report.figure("a mail acknowledged again after, s", seconds());
      await sleep(besideMs);
      await Promise.all([load.stop(), sends]);
      const ended = performance.now();
      await settle(world, { client, load: { ...load, drafts: [...load.drafts, ...drafts] } }, report);
      report.figure("all at its end after the last of it came, s", ((performance.now() - ended) / 1_000).toFixed(1));
      const answers = await sends;
      await inParallel(drafts, 4, async (id) => {
        const status = await statusOf(client, id);
        if (status !== "sent" && status !== "failed")
          report.violation(`reply ${id} is ${status}; its send was told ${answers.get(id)}`);
      });
      for (const told of load.refused.filter((each) => !each.startsWith("4")))
        report.violation(`a mail was told ${told}`);
      const { exitCode, signalCode } = instance.child;
      if (exitCode !== null || signalCode !== null) report.violation(`the service ended: ${exitCode ?? signalCode}`);
    } finally {
      await world.close();
      await server.close();
      await relay.close();
    }
  },
};

type Agent = { world: World; client: Client; smtpPort: number };

/** Drafts on threads where nobody writes again. */
async function submitted({ world, client, smtpPort }: Agent, identity: Identity): Promise<string[]> {
  const sender = await openSender(smtpPort);
  const drafts: string[] = [];
  for (let n = 0; n < replies.threads; n++) {
    const thread = await ask(world, identity, sender.send);
    for (let m = 0; m < replies.perThread; m++) drafts.push((await submit(client, thread)).id);
  }
  sender.close();
  return drafts;
}

/**
 * An agent that is told to come again does. One whose answer was lost finds the draft on its way, or, where that was cut off before it was queued,
 * pending once more, and sends it again. Resolves with the last answer to each.
 */
async function sendAll(client: Client, drafts: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const answers = new Map<string, string>();
  await inParallel(drafts, 8, async (id) => {
    const isOver = async (): Promise<boolean> => {
      const answer = await client.api(`POST /v1/drafts/${id}/send`).catch(() => undefined);
      if (answer) answers.set(id, `${answer.status} ${JSON.stringify(answer.body)}`);
      if (answer === undefined || answer.status >= 500) return false;
      return answer.status < 300 || !["pending", "approved"].includes(await statusOf(client, id));
    };
    await until(`draft ${id} to be sent`, isOver, sendsWithinMs);
  });
  return answers;
}

const statusOf = async (client: Client, id: string): Promise<string> =>
  (await client.api(`GET /v1/drafts/${id}`)).body?.status ?? "pending";
