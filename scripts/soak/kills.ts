import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { type CrashPoint, crashPoints } from "#src/crashPoints.ts";
import { startSmtpRelay } from "#test/support/smtpRelay.ts";
import { until } from "../support/client.ts";
import { EndedEarly, type Instance } from "../support/instance.ts";
import { customer } from "./conversation.ts";
import { startLoad } from "./load.ts";
import { type Proof, percentile } from "./proof.ts";
import { settle } from "./settled.ts";
import { openWorld } from "./world.ts";

/** How long the load may take to pass an armed point before it is given up: no point of this load, or a rare one. A sample's is passed. */
const passesWithinMs = { each: 8_000, sampled: 150_000 };

const victims = ["service", "postgresql", "both"] as const;

/** A sample kills once: the service at the hand-over, where nobody knows what the relay did, and PostgreSQL with it. */
const sampledPoints = ["deliver:handed-over"] as const;

export const kills: Proof = {
  name: "kills",
  title: "kill -9 at every crash point, and at random moments of the service, of PostgreSQL, of both, under load",
  unit: "kills a point, and more at random",
  full: 20,
  checked: 3,
  sample: 1,
  async run(size, report) {
    // Every third reply is to be tried again, so that there are later tries to be killed in.
    const relay = await startSmtpRelay([{ at: "RCPT", how: "451 4.3.0 later", recipient: customer, every: 3 }]);
    const world = await openWorld({}, { embedded: true, relay });
    try {
      const sample = size < 3;
      // A sample's one point is armed from the start.
      let instance: Instance = await world.start(sample ? { CRASH_AT: `${sampledPoints[0]}:1` } : {});
      const identity = await world.client(instance).identity();
      await world.client(instance).ask("POST /v1/rules", {
        name: "Every mail",
        trigger_event: "email.received",
        actions: [{ type: "set_priority", priority: "high" }],
      });
      const load = startLoad(world, identity, { instance, unhurried: sample });
      const readyAfter: Record<string, number[]> = { service: [], postgresql: [], both: [] };

      async function again(victim: string, settings: Record<string, string> = {}): Promise<void> {
        const began = performance.now();
        instance = await world.start(settings);
        readyAfter[victim]?.push(performance.now() - began);
        load.at(instance);
      }

      /** Whether an instance that is armed with this point dies there. A sample's first one is armed already. */
      async function diesAt(point: CrashPoint, time: number): Promise<boolean> {
        if (!sample || time > 0) {
          await instance.kill("SIGKILL");
          try {
            await again("service", { CRASH_AT: `${point}:${1 + (time % 3)}` });
          } catch (error) {
            // What the last kill left undone can lead through the point before it even says that it is ready.
            if (error instanceof EndedEarly && error.signal === "SIGKILL") return true;
            report.violation(`armed with ${point}, it did not start: ${error}`);
            return false;
          }
        }
        const died = await diesWithin(instance, passesWithinMs[sample ? "sampled" : "each"]);
        const { exitCode } = instance.child;
        if (exitCode !== null) report.violation(`armed with ${point}, it ended with ${exitCode} instead`);
        return died;
      }

      const sampledPostmaster = sample ? await world.postmaster() : undefined;
      const passed = new Map<string, number>();
      const points = sample ? sampledPoints : crashPoints;
      for (const point of points) {
        for (let time = 0; time < size; time++) {
          if (await diesAt(point, time)) passed.set(point, (passed.get(point) ?? 0) + 1);
          report.progress(time + 1, size, point);
        }
      }
      report.figure("killed at", [...passed].map(([point, n]) => `${point} ×${n}`).join(", "));
      const never = points.filter((point) => !passed.has(point));
      if (never.length > 0) report.figure("points this load did not pass", never.join(", "));
      if (size >= this.full && never.length > 0) report.violation(`never killed at ${never.join(", ")}`);
      if (passed.size === 0) report.violation("nothing was killed at a point: none was passed");
      if (sampledPostmaster) process.kill(sampledPostmaster, "SIGKILL");
      if (instance.child.exitCode === null && instance.child.signalCode === null) await instance.kill("SIGKILL");
      await again(sample ? "both" : "service");

      const random = sample ? 0 : size * 5;
      for (let kill = 0; kill < random; kill++) {
        await sleep(200 + ((kill * 7919) % 1300));
        const victim = victims[kill % victims.length] as (typeof victims)[number];
        const postmaster = victim === "service" ? undefined : await world.postmaster();
        const began = performance.now();
        if (postmaster) process.kill(postmaster, "SIGKILL");
        if (victim === "postgresql") {
          await until("ready again", () => isReady(instance), 60_000);
          readyAfter.postgresql?.push(performance.now() - began);
        } else {
          await instance.kill("SIGKILL");
          await again(victim);
        }
        report.progress(kill + 1, random, "random kills");
      }
      report.figure("kills at random moments", random);
      for (const [victim, ms] of Object.entries(readyAfter)) {
        if (ms.length > 0)
          report.figure(
            `ready again, ${victim}`,
            `median ${Math.round(percentile(ms, 50))} ms, worst ${Math.round(Math.max(...ms))} ms of ${ms.length}`,
          );
      }
      await sleep(1000);
      await load.stop();
      await settle(world, { client: world.client(instance), load, ruled: true }, report);
    } finally {
      await world.close();
      await relay.close();
    }
  },
};

/** Whether it kills itself in that time. One that ends with an exit code did not. */
export async function diesWithin({ child }: Instance, ms: number): Promise<boolean> {
  if (child.exitCode === null && child.signalCode === null)
    await Promise.race([once(child, "exit"), sleep(ms, undefined, { ref: false })]);
  return child.signalCode === "SIGKILL";
}

async function isReady({ url }: Instance): Promise<boolean> {
  try {
    return (await fetch(`${url}/readyz`)).status === 200;
  } catch {
    return false;
  }
}
