import type { Clock } from "#src/platform/clock.ts";
import { categoryOf, type Event } from "#streams/event.ts";
import { streams } from "#streams/index.ts";
import type { SnapshotOptions } from "./snapshotKeeper.ts";
import type { States, StreamKind } from "./states.ts";

/** Maximum time in milliseconds that a start of the service spends on snapshots. */
const defaultMs = 30_000;
/** Interval of progress messages in milliseconds. */
const progressMs = 5_000;
const mostStreams = 10_000;

const kinds: ReadonlyMap<string, StreamKind<unknown, Event>> = new Map(
  Object.values(streams).map((kind) => [kind.decider.category, kind as unknown as StreamKind<unknown, Event>]),
);

/**
 * Rebuilds snapshots made by other versions of the rules, longest streams first: after an upgrade, before requests need them. A snapshot
 * that is not rebuilt within `withinMs` is rebuilt when its stream is next loaded. A failed snapshot does not prevent the others.
 */
export async function remakeSnapshots(
  states: Pick<States, "remake">,
  { kept, rules, log }: SnapshotOptions,
  { clock, withinMs = defaultMs }: { clock: Pick<Clock, "monotonic">; withinMs?: number },
): Promise<void> {
  const begun = clock.monotonic();
  let saidAt = begun;
  let remade = 0;
  try {
    const outdated = (await kept.outdated(rules, mostStreams)).filter((stream) => kinds.has(categoryOf(stream)));
    if (outdated.length === 0) return;
    log.info({ streams: outdated.length }, "the rules of long streams have changed: rebuilding their snapshots");
    for (const stream of outdated) {
      if (clock.monotonic() - begun >= withinMs) break;
      await states.remake(kinds.get(categoryOf(stream))!, stream);
      remade += 1;
      if (clock.monotonic() - saidAt < progressMs) continue;
      saidAt = clock.monotonic();
      log.info({ remade, left: outdated.length - remade }, "rebuilding snapshots");
    }
    const left = outdated.length - remade;
    log.info(
      { remade, left },
      left > 0 ? "the other snapshots are built when they are needed" : "all snapshots are rebuilt",
    );
  } catch (error) {
    log.warn({ err: error, remade }, "cannot rebuild snapshots: long streams are folded when they are needed");
  }
}
