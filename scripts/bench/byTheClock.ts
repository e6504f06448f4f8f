import { setTimeout as sleep } from "node:timers/promises";
import { progress } from "./measure.ts";

/** Starts calls by the clock, the kinds in turns, also those it is late for. Answers each kind's times in milliseconds, from when a call was due. */
export async function byTheClock<Kind extends { name: string }>(
  kinds: readonly Kind[],
  { perSecond, seconds, what }: { perSecond: number; seconds: number; what: string },
  call: (kind: Kind) => Promise<unknown>,
): Promise<Map<string, number[]>> {
  const times = new Map<string, number[]>();
  const began = performance.now();
  const calls: Promise<void>[] = [];
  while (calls.length < perSecond * seconds) {
    const due = began + (calls.length * 1_000) / perSecond;
    if (due > performance.now()) {
      await sleep(1);
      continue;
    }
    const kind = kinds[calls.length % kinds.length] as Kind;
    if (calls.length % (perSecond * 10) === 0) progress(`${calls.length} of ${perSecond * seconds} ${what}`);
    calls.push(
      call(kind).then(() => {
        times.set(kind.name, [...(times.get(kind.name) ?? []), performance.now() - due]);
      }),
    );
  }
  await Promise.all(calls);
  return times;
}
