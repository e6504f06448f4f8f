import { setTimeout as sleep } from "node:timers/promises";
import { openInstallation, type RunningInstance } from "#test/support/installation.ts";
import type { TestService } from "#test/support/service.ts";
import { openTenant, type Tenant } from "#test/support/tenant.ts";
import { until } from "../support/client.ts";
import { type JudgedInstallation, judgeEnds, judgeReadModels, judgeSends } from "./evidence.ts";
import { ends, submitMany, untilAll } from "./many.ts";
import type { Proof } from "./proof.ts";

/** Deliveries per round: in each an instance is killed or stopped, while this many more are under way. */
const perRound = 100;
const underWay = 40;
/** Delays of a relay that takes 200 ms for a mail. */
const answersAfterMs = { MAIL: 50, RCPT: 50, DATA: 50, dot: 50 };
const takesWithinMs = 10_000;
const continuedMs = 2_000;
const mostBatches = 5;
/** Milliseconds within which the other instance delivers the sends of the killed or stopped one. */
const endsWithinMs = 60_000;

const aheadOfTime = `--import=data:text/javascript;base64,${Buffer.from(
  `const Own = Date;
   globalThis.Date = class Date extends Own {
     constructor(...given) { given.length > 0 ? super(...given) : super(Own.now() + 300_000); }
     static now() { return Own.now() + 300_000; }
   };`,
).toString("base64")}`;
/** Settings of an instance on a machine whose clock is five minutes ahead. */
export const fiveMinutesAhead: Record<string, string> = { NODE_OPTIONS: aheadOfTime };
const machines = [fiveMinutesAhead, {}];

export const instances: Proof = {
  name: "instances",
  title:
    "two instances, their clocks five minutes apart, share the deliveries; one is killed or stopped again and again, and nothing is sent twice",
  unit: "deliveries, and a kill or stop for every hundred",
  full: 2_000,
  checked: 200,
  sample: 20,
  async run({ size, report }) {
    const isSample = size <= instances.sample;
    const installation = await openInstallation({ here: isSample, relay: { answersAfterMs } });
    const judged = { installation, report };
    try {
      // In a sample the first instance is killed once, and the other one runs in this process.
      const running: RunningInstance[] = [await installation.start(machines[0]), await installation.run(machines[1])];
      const tenant = await openTenant(installation, running[0]!);
      const all = await batch(judged, { tenant, instance: running[0]! }, size);
      await untilAll(judged, { types: ends, drafts: all });
      if (size >= perRound) await judgeShares(judged);

      const rounds = Math.max(1, Math.round(size / perRound));
      for (let round = 0; round < rounds; round++) {
        const [at, how] = [round % 2, round % 4 < 2 ? "SIGKILL" : "SIGSTOP"] as const;
        const victim = running[at] as TestService;
        const drafts = await atWork(judged, { tenant, victim, survivor: running[1 - at]! }, Math.min(underWay, size));
        await victim.kill(how);
        await untilAll(judged, { types: ends, drafts, within: endsWithinMs });
        // Wait, so that a continued instance has time to do what it must not do.
        if (how === "SIGSTOP") await victim.kill("SIGCONT").then(() => sleep(continuedMs));
        else if (round + 1 < rounds) running[at] = await installation.start(machines[at]);
        all.push(...drafts);
        report.progress(round + 1, rounds, "kills and stops");
      }
      report.figure("kills and stops", rounds);
      await judgeEnds(judged, all);
      await judgeSends(judged);
      if (!isSample) await judgeReadModels(judged);
    } finally {
      await installation.close();
    }
  },
};

/** Makes drafts that are approved while their workspace is paused, and released together. */
async function batch(
  judged: JudgedInstallation,
  { tenant, instance }: { tenant: Tenant; instance: RunningInstance },
  size: number,
): Promise<string[]> {
  const pause = (sending_paused: boolean) => tenant.at(instance).ask("PATCH /v1/workspaces/me", { sending_paused });
  await pause(true);
  const drafts = await submitMany(judged, { tenant, instance, approved: true }, size);
  await pause(false);
  return drafts;
}

/**
 * Releases drafts until the victim is working on some of them: on a busy machine the other instance may have finished first. Returns the
 * last ones.
 */
async function atWork(
  judged: JudgedInstallation,
  { tenant, victim, survivor }: { tenant: Tenant; victim: TestService; survivor: RunningInstance },
  size: number,
): Promise<string[]> {
  const { instance } = await victim.logged(({ msg }) => msg === "ready");
  const sql = "select 1 from work.lanes where state = 'claimed' and process = 'deliver' and holder = $1 limit 1";
  for (let batches = 1; ; batches++) {
    const drafts = await batch(judged, { tenant, instance: survivor }, size);
    const isAtWork = async () => (await judged.installation.rows(sql, [instance])).length > 0;
    const found = await until("work in its hands", isAtWork, takesWithinMs).catch(() => false);
    if (found) return drafts;
    if (batches === mostBatches) throw new Error(`${victim.url} took no part in the deliveries`);
    await untilAll(judged, { types: ends, drafts });
  }
}

/** Checks that each instance delivers 30 to 70 percent. */
async function judgeShares({ installation, report }: JudgedInstallation): Promise<void> {
  const shares = await installation.rows<{ percent: number }>(
    `select round(100 * count(*) / sum(count(*)) over ())::int as percent from es.events
     where type = 'DeliveryStarted' group by data ->> 'instanceId'`,
  );
  const said = shares.map(({ percent }) => percent).join(" and ");
  report.figure("each one's part of the deliveries, percent", said);
  if (shares.length !== 2 || shares.some(({ percent }) => percent < 30 || percent > 70))
    report.violation(`the instances delivered ${said} percent`);
}
