import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { canEndObstacle, obstacleCategories } from "#streams/obstacleEnds.ts";
import { mayConcern } from "./concerns.ts";
import { keyOf } from "./keys.ts";
import { laterTimer } from "./laterTimer.ts";
import { anyListeners, type KnownListeners, listenersReader } from "./listeners.ts";
import type { Planned } from "./plan.ts";

/**
 * What these processes have to do about events: each about those that it has not got yet (`from`) and that may concern it. The listeners' reader does
 * nothing but read on.
 */
export function workOf(
  events: readonly Recorded[],
  from: ReadonlyMap<string, number>,
  { processes, listeners, now }: { processes: readonly Process[]; listeners: KnownListeners; now: Date },
): Planned[] {
  const heard = heardBy(listeners, events, from.get(listenersReader.name));
  const working = processes.filter((process) => process !== listenersReader);
  return working.flatMap((process) =>
    events
      .filter((event) => event.position > from.get(process.name)! && mayConcern(process, event, heard(event)))
      .map((event) => plannedOf(process, event, now)),
  );
}

function plannedOf(process: Process, event: Recorded, now: Date): Planned {
  const timer = laterTimer(process, event, now);
  return { process: process.name, key: keyOf(process, event), event, ...(timer && { timer }) };
}

/**
 * Who listens to each of these events, if that is known: it is of those that come after what the listeners' reader has read (`after`), which
 * goes on with them.
 */
function heardBy(
  listeners: KnownListeners,
  events: readonly Recorded[],
  after = Number.POSITIVE_INFINITY,
): (event: Recorded) => Listeners {
  const heard = new Map<Recorded, Listeners>();
  for (const event of events.filter(({ position }) => position > after)) {
    listeners.follow(event);
    heard.set(event, listeners.to(event));
  }
  return (event) => heard.get(event) ?? anyListeners;
}

/** Streams on which an obstacle may have ended, with the revision of the newest event of these that may have ended it. */
export const endedObstacles = (events: readonly Recorded[]): Map<string, number> =>
  new Map(events.filter(mayEndObstacle).map(({ stream, revision }) => [stream, revision]));

/** An event that this version cannot read may be such an end: what waits is tried once more. */
function mayEndObstacle(event: Recorded): boolean {
  if (isUnreadable(event)) return obstacleCategories.includes(categoryOf(event.stream));
  try {
    return canEndObstacle(event);
  } catch {
    return true;
  }
}
