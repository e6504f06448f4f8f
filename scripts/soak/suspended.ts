import { setTimeout as sleep } from "node:timers/promises";
import { startLoad } from "./load.ts";
import type { Proof } from "./proof.ts";
import { settle } from "./settled.ts";
import { openWorld, sameSecrets } from "./world.ts";

/** Longer than a lease lives, so that the other instance takes over before the stopped one goes on. */
const stoppedMs = 12_000;

export const suspended: Proof = {
  name: "suspended",
  title: "two instances of every role, one of them stopped (SIGSTOP) and continued during load",
  unit: "stops",
  full: 10,
  checked: 2,
  sample: 1,
  async run(size, report) {
    const unhurried = size < 2;
    const world = await openWorld(sameSecrets, { here: unhurried });
    try {
      const one = await world.start();
      const stoppable = unhurried ? undefined : await world.start();
      // Of a single stop it is the one that goes on.
      const two = stoppable ?? (await world.reach());
      const identity = await world.client(one).identity();
      const loads = [one, two].map((instance) => startLoad(world, identity, { instance, unhurried }));
      for (let stop = 0; stop < size; stop++) {
        await sleep(2_000);
        const [sleeper, other] = stoppable && stop % 2 === 1 ? [stoppable, one] : [one, two];
        await sleeper.kill("SIGSTOP");
        // What was under way at the stop is the point: a sample needs little more until the end of it.
        for (const load of loads) load.at(other, { resting: unhurried });
        await sleep(stoppedMs);
        await sleeper.kill("SIGCONT");
        loads[0]?.at(one);
        loads[1]?.at(two);
        report.progress(stop + 1, size, "stops");
      }
      await sleep(2_000);
      await Promise.all(loads.map((load) => load.stop()));
      const both = {
        ...loads[0]!,
        acknowledged: loads.flatMap(({ acknowledged }) => acknowledged),
        drafts: loads.flatMap(({ drafts }) => drafts),
      };
      report.figure("stopped and continued", size);
      await settle(world, { client: world.client(two), load: both }, report);
    } finally {
      await world.close();
    }
  },
};
