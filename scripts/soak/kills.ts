import { setTimeout as sleep } from "node:timers/promises";
import { type CrashPoint, crashPoints } from "#src/platform/crashPoints.ts";
import { prepareDirectories } from "#src/platform/embeddedPostgres/directories.ts";
import { readPostmaster } from "#src/platform/embeddedPostgres/postmaster.ts";
import { openInstallation } from "#test/support/installation.ts";
import type { TestService } from "#test/support/service.ts";
import { askedByMail, customer, openTenant } from "#test/support/tenant.ts";
import { until } from "../support/client.ts";
import { createRandom } from "../support/random.ts";
import { ServiceEnded } from "../support/serviceProcess.ts";
import { startLoad } from "./load.ts";
import type { Proof } from "./proof.ts";
import { settle, settleRules } from "./settled.ts";

/** Milliseconds that the load may take to pass an armed point; then the point is skipped. In a sample it must be passed. */
const passesWithinMs = { each: 15_000, sampled: 150_000 };
const victims = ["the service", "PostgreSQL", "both"] as const;
/** A sample kills the service once, at the hand-over, when only the relay knows the result, and then PostgreSQL. */
const sampledPoint: CrashPoint = "deliver:handed-over";

export const kills: Proof = {
  name: "kills",
  title: "kill -9 at every crash point, and at random moments of the service, of PostgreSQL, of both, under load",
  unit: "kills a point, and five times as many at random",
  full: 20,
  checked: 3,
  sample: 1,
  async run({ size, seed, report }) {
    const isSample = size <= kills.sample;
    // Every third reply is refused at first, so that there are later attempts to kill.
    const faults = [{ at: "RCPT", how: "451 4.3.0 later", recipient: customer, every: 3 } as const];
    const installation = await openInstallation({ database: "embedded", relay: { faults: [...faults] } });
    const judged = { installation, report };
    const random = createRandom(seed);
    const armed = (point: CrashPoint, time: number) => ({ CRASH_AT: `${point}:${1 + (time % 3)}` });
    try {
      let instance = await installation.start(isSample ? armed(sampledPoint, 0) : {});
      const tenant = await openTenant(installation, instance, askedByMail);
      await tenant.at(instance).ask("POST /v1/rules", {
        ...{ name: "Every mail", trigger_event: "email.received" },
        actions: [{ type: "set_priority", priority: "high" }],
      });
      const load = startLoad(installation, tenant, { instance, unhurried: isSample });

      async function again(env: Record<string, string> = {}): Promise<void> {
        await instance.kill();
        instance = await installation.start(env);
        load.at(instance);
      }
      async function killPostgres(): Promise<void> {
        const place = await prepareDirectories(installation.dataDir);
        const { pid } = await until("a running PostgreSQL", async () => readPostmaster(place));
        process.kill(pid, "SIGKILL");
      }
      /** True if an instance that is armed with the point dies there. */
      async function diesAt(point: CrashPoint, time: number): Promise<boolean> {
        try {
          if (!isSample) await again(armed(point, time));
          const how = await endWithin(instance, passesWithinMs[isSample ? "sampled" : "each"]);
          if (typeof how === "number") report.violation(`armed with ${point}, the service ended with ${how} instead`);
          return how === "SIGKILL";
        } catch (error) {
          // Work that the last kill left unfinished can pass the point before the service is ready.
          if (error instanceof ServiceEnded && error.how === "SIGKILL") return true;
          throw error;
        }
      }

      const points = isSample ? [sampledPoint] : crashPoints;
      const passed = new Map<CrashPoint, number>();
      for (const point of points) {
        for (let time = 0; time < size; time++) {
          if (await diesAt(point, time)) passed.set(point, (passed.get(point) ?? 0) + 1);
          report.progress(time + 1, size, point);
        }
      }
      report.figure("killed at", [...passed].map(([point, times]) => `${point} ×${times}`).join(", "));
      const never = points.filter((point) => !passed.has(point));
      if (never.length > 0) report.figure("points this load did not pass", never.join(", "));
      if (passed.size === 0 || (size >= kills.full && never.length > 0))
        report.violation(`never killed at ${never.join(", ")}`);
      if (isSample) await killPostgres();
      await again();

      const times = isSample ? 0 : size * 5;
      for (let kill = 0; kill < times; kill++) {
        await sleep(200 + random.below(1_300));
        const victim = victims[kill % victims.length];
        if (victim !== "the service") await killPostgres();
        if (victim !== "PostgreSQL") await again();
        const { url } = instance;
        await until("the service to be ready again", () => isReady(url));
        report.progress(kill + 1, times, "kills at random");
      }
      report.figure("kills at random moments", times);
      await sleep(1_000);
      await load.stop();
      await settle(judged, { client: tenant.at(instance), load });
      await settleRules(judged);
    } finally {
      await installation.close();
    }
  },
};

/** Resolves with the exit code or signal of a service that exits in time; otherwise with undefined. */
const endWithin = ({ ended }: TestService, ms: number): Promise<number | NodeJS.Signals | undefined> =>
  Promise.race([ended, sleep(ms, undefined, { ref: false })]);

const isReady = (url: string): Promise<boolean> =>
  fetch(`${url}/readyz`).then(
    ({ status }) => status === 200,
    () => false,
  );
