import { setTimeout as sleep } from "node:timers/promises";
import { unansweredName } from "#src/work/heldAsks.ts";
import type { Instance } from "../support/instance.ts";
import type { Report } from "./proof.ts";
import type { World } from "./world.ts";

/** What the one that is left takes at most, in milliseconds from the kill on. */
const limits = { work: 12_000, plan: 4_000 };
const givenUpAfterMs = 60_000;
const lookEveryMs = 50;

/** By which it claims. */
function idOf({ log }: Instance): string {
  return JSON.parse(log.find((line) => line.includes('"msg":"ready"')) as string).instance;
}

type Lane = { claim: string };

/** The lanes that an instance works on. */
const lanesOf = (world: World, instance: Instance): Promise<Lane[]> =>
  world.rows<Lane>("select claim from work.lanes where state = 'claimed' and holder = $1", [idOf(instance)]);

/** True while an instance has deliveries in its hands. */
export async function takesAPart(world: World, instance: Instance): Promise<boolean> {
  const { length } = await world.rows(
    "select 1 from work.lanes where state = 'claimed' and process = 'deliver' and holder = $1 limit 1",
    [idOf(instance)],
  );
  return length > 0;
}

/** `timed`: how long it takes is judged. */
type CutOff = { victim: Instance; how: "SIGKILL" | "SIGSTOP"; happen: () => Promise<unknown>; timed: boolean };

/**
 * Kills or stops an instance that is at work, and measures in milliseconds how long it takes until all it had in its hands is somebody else's
 * or done, and until what happens next (`happen`: another's append) is planned.
 */
export async function cutOff(
  { world, report }: { world: World; report: Report },
  { victim, how, happen, timed }: CutOff,
): Promise<{ workMs: number; planMs: number }> {
  await victim.kill(how);
  const began = performance.now();
  const claims = (await lanesOf(world, victim)).map(({ claim }) => claim);

  async function within(which: keyof typeof limits, isSo: () => Promise<boolean>): Promise<number> {
    let done = await isSo();
    for (; !done && performance.now() - began < givenUpAfterMs; done = await isSo()) await sleep(lookEveryMs);
    const tookMs = Math.round(performance.now() - began);
    if (!done) report.violation(`the ${which} of an instance after ${how} did not go on within ${tookMs} ms`);
    else if (timed && tookMs > limits[which])
      report.violation(`the ${which} of an instance after ${how} went on only after ${tookMs} ms`);
    return tookMs;
  }

  async function planned(): Promise<number> {
    await happen();
    const [head] = await world.rows<{ position: string }>("select max(position) as position from es.events");
    return within("plan", async () => {
      // What waits for an answer of the log follows a second later (src/work/heldAsks.ts), and says once a second how far it is.
      const rows = await world.rows("select 1 from work.planned where planned < $1 and name <> $2", [
        head!.position,
        unansweredName,
      ]);
      return rows.length === 0;
    });
  }

  const [workMs, planMs] = await Promise.all([
    within("work", async () => {
      const rows = await world.rows("select 1 from work.lanes where claim = any($1) and state = 'claimed'", [claims]);
      return rows.length === 0;
    }),
    planned(),
  ]);
  return { workMs, planMs };
}
