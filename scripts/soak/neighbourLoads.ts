import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { type Mailer, openMailer } from "#test/mail/in/smtpSender.ts";
import type { RunningInstance } from "#test/support/installation.ts";
import { sendMail, type Tenant } from "#test/support/tenant.ts";
import { until } from "../support/client.ts";
import { freePort } from "../support/freePort.ts";
import type { JudgedInstallation } from "./evidence.ts";
import { submitMany, waitMs } from "./many.ts";

/** The most webhooks that one workspace can have. */
const webhooks = 20;

/** A busy tenant, and the instance that it uses. */
type Busy = { tenant: Tenant; instance: RunningInstance };

/** Makes approved drafts of a paused workspace; resolves with their ids when the sending of each is set aside. */
export async function pauseDrafts(
  judged: JudgedInstallation,
  { tenant, instance }: Busy,
  size: number,
): Promise<string[]> {
  await tenant.at(instance).ask("PATCH /v1/workspaces/me", { sending_paused: true });
  const drafts = await submitMany(judged, { tenant, instance, approved: true }, size);
  await untilSetAside(judged, tenant, size);
  return drafts;
}

export function untilSetAside(
  { installation }: JudgedInstallation,
  { workspaceId }: Tenant,
  size: number,
): Promise<unknown> {
  const sql = `select count(*)::int as n from work.lanes
    where process = 'sendApproved' and workspace = $1 and state = 'waiting' and obstacles is not null`;
  const areAll = async () => (await installation.rows<{ n: number }>(sql, [workspaceId]))[0]!.n >= size;
  return until("every paused draft to be set aside", areAll, waitMs);
}

export type DeadHost = { urls: readonly string[]; close(): void };

/** Starts a host that accepts connections and never answers, with a port where nothing listens. */
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

/** Queues this many webhook deliveries to a dead host, for as many webhooks as a workspace may have; resolves when all are due. */
export async function queueDeliveries(
  judged: JudgedInstallation,
  { tenant, instance, host }: Busy & { host: DeadHost },
  size: number,
) {
  for (let n = 0; n < webhooks; n++) {
    const url = host.urls[n % host.urls.length];
    await tenant.at(instance).ask("POST /v1/webhooks", { url, events: ["draft.created"] });
  }
  await submitMany(judged, { tenant, instance }, Math.ceil(size / webhooks));
  const sql = "select count(*)::int as n from work.webhook_deliveries where workspace_id = $1 and status = 'pending'";
  const areAll = async () => (await judged.installation.rows<{ n: number }>(sql, [tenant.workspaceId]))[0]!.n >= size;
  await until("all deliveries to be due", areAll, waitMs);
}

/**
 * Sends mail after mail to one identity, at a fixed rate without waiting for answers. Returns a function that ends it, and resolves with
 * the number of mails once all are filed.
 */
export async function startStream({ installation }: JudgedInstallation, { tenant, instance }: Busy, perMinute: number) {
  const mailers: Mailer[] = await Promise.all(Array.from({ length: 4 }, () => openMailer(instance.smtpPort)));
  const lanes: Promise<unknown>[] = mailers.map(() => Promise.resolve());
  const began = performance.now();
  let mails = 0;
  let isOver = false;
  const running = (async () => {
    for (; !isOver; mails++) {
      await sleep(Math.max(0, began + (mails * 60_000) / perMinute - performance.now()));
      const lane = mails % mailers.length;
      lanes[lane] = lanes[lane]!.then(() => sendMail(tenant, { mailer: mailers[lane]! }));
      // A refusal is thrown at the end.
      lanes[lane].catch(() => {});
    }
    await Promise.all(lanes);
  })();
  running.catch(() => {});
  return async (): Promise<number> => {
    isOver = true;
    await running.finally(() => mailers.forEach((mailer) => void mailer.close()));
    const sql = "select count(*)::int as n from read.messages where identity_id = $1";
    const areFiled = async () => (await installation.rows<{ n: number }>(sql, [tenant.identity.id]))[0]!.n >= mails;
    await until("all mails of the stream to be filed", areFiled, waitMs);
    return mails;
  };
}
