import { queueSend } from "#src/commands/sends/queueSend.ts";
import { composeBeside } from "#test/support/besideService.ts";
import { operator } from "#test/support/cause.ts";
import { type SmtpRelay, startSmtpRelay } from "#test/support/smtpRelay.ts";
import { until } from "../support/client.ts";
import { cpuSecondsOf, cpuSecondsOfServer } from "../support/cpuSeconds.ts";
import { ask, type Conversation, submit } from "./conversation.ts";
import { inParallel, type Proof, type Report } from "./proof.ts";
import { openSender } from "./sender.ts";
import { openWorld, type World } from "./world.ts";

const perThread = 20;
const waitMs = 1_800_000;
const connections = 10;
/** How long the relay takes over each mail, in milliseconds: from the final dot to its answer. */
const answersAfterMs = { dot: 100 };
/** Drafts for which each second is enough. */
const perSecond = 50;

/**
 * What was queued when the service stopped leaves once when it is back, under the claims it was queued with. The relay takes 100 ms for a
 * mail and allows 10 connections.
 */
export const queued: Proof = {
  name: "queued",
  title: `drafts queued while the service was stopped, ${connections} connections to a relay that takes 100 ms: all leave once`,
  unit: "drafts",
  full: 2_000,
  checked: 100,
  sample: 20,
  async run(size, report) {
    const relay = await startSmtpRelay([], { connections, answersAfterMs });
    const settings = { SMTP_CONNECTIONS: String(connections), HAND_OVER_SECONDS: "60" };
    const world = await openWorld(settings, { relay, here: size <= this.sample });
    try {
      await queueAll(world, size, report);
      await leave(world, { size, relay }, report);
    } finally {
      await world.close();
      await relay.close();
    }
  },
};

/** Submitted to a running service, queued when it has stopped. */
async function queueAll(world: World, size: number, report: Report): Promise<void> {
  const instance = await world.reach();
  const client = world.client(instance);
  const { id: workspaceId } = await client.ask("GET /v1/workspaces/me");
  const identity = await client.identity({ approval_channel: undefined });
  const sender = await openSender(instance.smtpPort);
  const threads: Conversation[] = [];
  for (let n = 0; n < Math.ceil(size / perThread); n++) threads.push(await ask(world, identity, sender.send));
  sender.close();
  const drafts: string[] = [];
  await inParallel(Array.from({ length: size }), 8, async (_, n) => {
    drafts.push((await submit(client, threads[n % threads.length]!)).id);
    report.progress(drafts.length, size, "submitted");
  });
  await instance.stop();

  const beside = composeBeside({
    ownerUrl: world.env.DATABASE_OWNER_URL as string,
    serviceUrl: world.env.DATABASE_URL as string,
  });
  try {
    let count = 0;
    await inParallel(drafts, 8, async (draftId) => {
      await queueSend(beside.deps, { draftId, kind: "api_key" }, operator(workspaceId));
      report.progress(++count, size, "queued");
    });
  } finally {
    await beside.close();
  }
}

async function leave(world: World, { size, relay }: { size: number; relay: SmtpRelay }, report: Report): Promise<void> {
  const count = async (type: string): Promise<number> =>
    (await world.rows<{ n: number }>("select count(*)::int as n from es.events where type = $1", [type]))[0]!.n;
  const server = () => cpuSecondsOfServer((sql) => world.rows<{ pid: number }>(sql));
  const serverBefore = await server();
  const instance = await world.reach();
  const pid = instance.child?.pid ?? process.pid;
  const startedWith = cpuSecondsOf(pid);
  const began = performance.now();
  const seconds = () => (performance.now() - began) / 1000;
  await until(
    "the last hand-over",
    async () => {
      report.progress(relay.mails.length, size, "handed over");
      return relay.mails.length >= size;
    },
    waitMs,
  );
  const took = seconds();
  report.figure("seconds until all were handed over", took.toFixed(1));
  report.figure("CPU seconds of the service meanwhile", (cpuSecondsOf(pid) - startedWith).toFixed(1));
  report.figure("CPU seconds of PostgreSQL meanwhile", ((await server()) - serverBefore).toFixed(1));
  report.figure("most connections at once", relay.mostAtOnce);
  report.figure("connections refused", relay.refusedConnections);
  await until("the end of all drafts", async () => (await count("DraftSent")) >= size, waitMs);
  await until("all in their threads", async () => (await count("MessageSent")) >= size, waitMs);
  report.figure("seconds until all were in their threads", seconds().toFixed(1));
  const again = await count("DraftRequeued");
  report.figure("drafts queued again", again);
  report.figure("mails at the relay", `${relay.mails.length} of ${size}`);
  if (relay.mails.length !== size)
    report.violation(`${size} mails were queued, and the relay took ${relay.mails.length}`);
  if (again > size / 100) report.violation(`${again} drafts were queued again for nothing`);
  // A sample says nothing about speed: the start alone takes longer.
  if (size >= 1_000 && took > size / perSecond)
    report.violation(`all were to be handed over within ${size / perSecond} s, and it took ${took.toFixed(1)} s`);
}
