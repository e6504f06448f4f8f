import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { derivedId } from "#src/commands/ids.ts";
import type { SubmitDraft } from "#streams/draft/decider.ts";
import type { composeBeside } from "#test/support/besideService.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "../support/client.ts";
import { freePort } from "../support/freePort.ts";
import { ask, mailOf, submit } from "./conversation.ts";
import { inParallel, type Report } from "./proof.ts";
import { openSender } from "./sender.ts";
import type { Tenant } from "./tenant.ts";
import type { Reached, World } from "./world.ts";

export type Neighbourhood = {
  world: World;
  beside: ReturnType<typeof composeBeside>;
  instance: Reached;
  report: Report;
};

type Drafted = SubmitDraft["draft"];

const perThread = 50;
const atOnce = 16;
const waitMs = 600_000;

/** As many drafts as wanted, approved to be sent while their workspace is paused; resolves when each has been set aside. */
export async function pauseDrafts(near: Neighbourhood, tenant: Tenant, size: number): Promise<void> {
  const { world, beside, report } = near;
  const models = await submitModels(near, tenant, Math.ceil(size / perThread));
  await tenant.client.ask("PATCH /v1/workspaces/me", { sending_paused: true });
  const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
  let approved = 0;
  await inParallel(Array.from({ length: size }), atOnce, async (_, n) => {
    const id = await submitAs(near, tenant, models[n % models.length]!);
    await beside.deps.drafts.handle(id, { ...approve, tokenSha256: "a person's" }, operator(tenant.workspaceId));
    report.progress(++approved, size, "approved");
  });
  await until("every paused draft set aside", async () => (await setAside(world, tenant)) >= size, waitMs);
}

/** How many of a workspace's sends are set aside. */
export async function setAside(world: World, { workspaceId }: Tenant): Promise<number> {
  const [row] = await world.rows<{ n: number }>(
    `select count(*)::int as n from work.lanes
     where process = 'sendApproved' and workspace = $1 and state = 'waiting' and obstacles is not null`,
    [workspaceId],
  );
  return row!.n;
}

/** The most webhooks that one workspace can have. */
const webhooks = 20;

export type DeadHost = { urls: readonly string[]; close(): void };

/** A host that takes connections and never says a word, and a port of it where nobody listens. */
export async function startDeadHost(): Promise<DeadHost> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.on("close", () => sockets.delete(socket));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const ports = [(server.address() as AddressInfo).port, await freePort()];
  return {
    urls: ports.map((port) => `http://127.0.0.1:${port}/hook`),
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** As many deliveries as wanted to a dead host, by all webhooks that the workspace may have; resolves with their number when all wait. */
export async function queueDeliveries(
  near: Neighbourhood,
  tenant: Tenant,
  { size, host }: { size: number; host: DeadHost },
) {
  const drafts = Math.ceil(size / webhooks);
  const models = await submitModels(near, tenant, Math.ceil(drafts / perThread));
  for (let n = 0; n < webhooks; n++) {
    const url = host.urls[n % host.urls.length];
    await tenant.client.ask("POST /v1/webhooks", { url, events: ["draft.created"] });
  }
  let submitted = 0;
  await inParallel(Array.from({ length: drafts }), atOnce, async (_, n) => {
    await submitAs(near, tenant, models[n % models.length]!);
    near.report.progress(++submitted, drafts, "drafts told to webhooks");
  });
  const wanted = drafts * webhooks;
  await until("all deliveries", async () => (await waiting(near.world, tenant)) >= wanted, waitMs);
  return wanted;
}

async function waiting(world: World, { workspaceId }: Tenant): Promise<number> {
  const sql = "select count(*)::int as n from work.webhook_deliveries where workspace_id = $1 and status = 'pending'";
  return (await world.rows<{ n: number }>(sql, [workspaceId]))[0]!.n;
}

export type Stream = {
  /** Ends it; resolves when all that was acknowledged is filed. Mails, and the seconds from the first to the last. */
  stop(): Promise<{ mails: number; seconds: number }>;
};

/** Mail after mail to one identity, at a rate that waits for no answer. */
export async function startStream(
  { world, instance }: Neighbourhood,
  tenant: Tenant,
  perMinute: number,
): Promise<Stream> {
  const { id: identityId, email_address: to } = tenant.identity;
  const senders = await Promise.all(Array.from({ length: 4 }, () => openSender(instance.smtpPort)));
  const ends: Promise<unknown>[] = senders.map(() => Promise.resolve());
  const began = performance.now();
  let mails = 0;
  let stopping = false;
  const running = (async () => {
    for (; !stopping; mails++) {
      await sleep(Math.max(0, began + (mails * 60_000) / perMinute - performance.now()));
      const n = mails % senders.length;
      const sent = ends[n]!.then(async () => {
        const told = await senders[n]!.send(mailOf({ id: `${randomUUID()}@soak.example`, to }), to);
        if (!told.startsWith("250")) throw new Error(`a mail was refused: ${told}`);
      });
      // It is told at the end.
      sent.catch(() => {});
      ends[n] = sent;
    }
    await Promise.all(ends);
  })();
  running.catch(() => {});
  const filed = async () => {
    const sql = "select count(*)::int as n from read.messages where identity_id = $1";
    return (await world.rows<{ n: number }>(sql, [identityId]))[0]!.n >= mails;
  };
  return {
    async stop() {
      stopping = true;
      await running.finally(() => senders.forEach((sender) => void sender.close()));
      const seconds = (performance.now() - began) / 1000;
      await until("all mails of the stream filed", filed, waitMs);
      return { mails, seconds };
    },
  };
}

/** Drafts of the agent's on threads of their own, which others are made like. */
async function submitModels({ world, instance }: Neighbourhood, tenant: Tenant, count: number): Promise<Drafted[]> {
  const models: Drafted[] = [];
  const lanes = Math.min(count, 4);
  await inParallel(Array.from({ length: lanes }), lanes, async (_, lane) => {
    const sender = await openSender(instance.smtpPort);
    for (let n = lane; n < count; n += lanes) {
      const { id } = await submit(tenant.client, await ask(world, tenant.identity, sender.send));
      const sql = "select data from es.events where stream_id = $1 and type = 'DraftSubmitted'";
      models.push((await world.rows<{ data: Drafted }>(sql, [`draft-${id}`]))[0]!.data);
    }
    sender.close();
  });
  return models;
}

/** One more draft like a model, without asking over REST each time. */
async function submitAs({ beside }: Neighbourhood, { workspaceId }: Tenant, model: Drafted): Promise<string> {
  const id = randomUUID();
  const draft = { ...model, messageId: derivedId("message", id) };
  await beside.deps.drafts.handle(id, { type: "SubmitDraft", draft }, operator(workspaceId));
  return id;
}
