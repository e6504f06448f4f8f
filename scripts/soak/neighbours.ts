import { composeBeside } from "#test/support/besideService.ts";
import { startSmtpRelay } from "#test/support/smtpRelay.ts";
import { until } from "../support/client.ts";
import { cpuSecondsOf, cpuSecondsOfServer } from "../support/cpuSeconds.ts";
import {
  type Neighbourhood,
  pauseDrafts,
  queueDeliveries,
  setAside,
  startDeadHost,
  startStream,
} from "./neighbourLoads.ts";
import { type Proof, percentile } from "./proof.ts";
import { openSingle, type Single, spread, stages, type Times } from "./single.ts";
import { openTenant, type Tenant } from "./tenant.ts";
import { openWorld } from "./world.ts";

const mailsPerMinute = 1_000;
const approver = "approver@single.example";
const waitMs = 600_000;

/** What a single mail may take at most beside the others: so many times the median of an idle service, and so many milliseconds of a hundred. */
const most = { ratio: 3, p99Ms: 2_000 };

/** One workspace's single mails do not wait for what three others have in hand. */
export const neighbours: Proof = {
  name: "neighbours",
  title: `single mails beside a workspace with paused drafts, one with webhooks to a dead host, and one with ${mailsPerMinute} mails a minute`,
  unit: "paused drafts, and as many due webhooks",
  full: 10_000,
  checked: 200,
  sample: 20,
  async run(size, report) {
    const relay = await startSmtpRelay();
    const host = await startDeadHost();
    const settings = {
      HAND_OVER_SECONDS: "60",
      WEBHOOK_ALLOWED_HOSTS: "127.0.0.1",
      // What could not be delivered is due again and again.
      WEBHOOK_RETRY_SECONDS: Array.from({ length: 50 }, () => "60").join(","),
    };
    const world = await openWorld(settings, { relay, here: size <= this.sample });
    const beside = composeBeside({
      ownerUrl: world.env.DATABASE_OWNER_URL as string,
      serviceUrl: world.env.DATABASE_URL as string,
    });
    let single: Single | undefined;
    try {
      const instance = await world.reach();
      const near: Neighbourhood = { world, beside, instance, report };
      const tenant = (name: string, settings = {}) => openTenant(beside, instance, { name, ...settings });
      const approval_channel = { type: "email", config: { to: approver } };
      single = await openSingle(await tenant("Single", { approval_channel }), {
        relay,
        smtpPort: instance.smtpPort,
        approver,
      });
      const rounds = Math.min(100, Math.max(3, Math.round(size / 20)));
      await single.measure(Math.ceil(rounds / 10), report);
      const idle = await measured(near, "idle", () => single!.measure(rounds, report));

      const paused = await tenant("Paused");
      await pauseDrafts(near, paused, size);
      const due = await queueDeliveries(near, await tenant("Webhooks"), { size, host });
      report.figure("drafts paused, webhooks due", `${await setAside(world, paused)}, ${due}`);
      const stream = await startStream(near, await tenant("Busy"), mailsPerMinute);
      const loaded = await measured(near, "beside the three", () => single!.measure(rounds, report));
      const woken = await measured(near, "while every paused draft is looked at again", () =>
        lookAgain(near, { paused, size }, () => single!.measure(Math.ceil(rounds / 2), report)),
      );
      const { mails, seconds } = await stream.stop();
      report.figure("mails a minute to the busy one, all filed", Math.round((mails * 60) / seconds));
      judge(near, { size, idle, loaded, woken });
    } finally {
      await single?.close();
      await beside.close();
      await world.close();
      host.close();
      await relay.close();
    }
  },
};

/** Any change of their workspace brings back all that is set aside; ends when all is set aside again. */
async function lookAgain<T>(
  { world }: Neighbourhood,
  { paused, size }: { paused: Tenant; size: number },
  meanwhile: () => Promise<T>,
): Promise<T> {
  await paused.client.ask("PATCH /v1/workspaces/me", { name: "Renamed" });
  const result = await meanwhile();
  await until("every paused draft set aside again", async () => (await setAside(world, paused)) >= size, waitMs);
  return result;
}

/** Reports what single mails took, and the CPU seconds of service and PostgreSQL meanwhile. */
async function measured(
  { world, instance, report }: Neighbourhood,
  when: string,
  work: () => Promise<Times>,
): Promise<Times> {
  const used = async () => ({
    service: cpuSecondsOf(instance.child?.pid ?? process.pid),
    server: await cpuSecondsOfServer((sql) => world.rows<{ pid: number }>(sql)),
    at: performance.now() / 1000,
  });
  const before = await used();
  const times = await work();
  const after = await used();
  for (const stage of stages) report.figure(`${stage}, ${when}`, spread(times[stage]));
  const [service, server, seconds] = (["service", "server", "at"] as const).map((key) =>
    (after[key] - before[key]).toFixed(1),
  );
  report.figure(`CPU seconds, ${when}`, `${service} of the service, ${server} of PostgreSQL, in ${seconds} s`);
  return times;
}

function judge(
  { report }: Neighbourhood,
  { size, idle, loaded, woken }: { size: number; idle: Times; loaded: Times; woken: Times },
): void {
  for (const stage of stages) {
    const ratio = percentile(loaded[stage], 50) / percentile(idle[stage], 50);
    const p99 = percentile(loaded[stage], 99);
    const p99Woken = percentile(woken[stage], 99);
    report.figure(`${stage}, times the median of an idle service`, ratio.toFixed(1));
    // A sample says nothing about speed.
    if (size < 1_000) continue;
    if (ratio > most.ratio)
      report.violation(`${stage}: the median is ${ratio.toFixed(1)} times that of an idle service`);
    if (p99 > most.p99Ms) report.violation(`${stage}: p99 is ${Math.round(p99)} ms`);
    if (p99Woken > most.p99Ms)
      report.violation(`${stage}: p99 is ${Math.round(p99Woken)} ms while the paused are looked at`);
  }
}
