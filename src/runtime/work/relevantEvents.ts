import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { canEndObstacle, obstacleCategories } from "#streams/obstacleEnds.ts";
import { keyOf } from "./keys.ts";
import { laterTimer } from "./laterTimer.ts";
import { type KnownListeners, listenersReader, unknownListeners } from "./listeners.ts";
import type { PlannedEvent } from "./plan.ts";
import { mayBeRelevant } from "./relevance.ts";

/**
 * Returns the work of these processes for events: each gets those after its position (`from`) that may concern it. `listenersReader` gets
 * none; it only updates the listeners.
 */
export function relevantEvents(
  events: readonly Recorded[],
  from: ReadonlyMap<string, number>,
  { processes, listeners, now }: { processes: readonly Process[]; listeners: KnownListeners; now: Date },
): PlannedEvent[] {
  const heard = listenersPerEvent(listeners, events, from.get(listenersReader.name));
  const working = processes.filter((process) => process !== listenersReader);
  return working.flatMap((process) =>
    events
      .filter((event) => event.position > from.get(process.name)! && mayBeRelevant(process, event, heard(event)))
      .map((event) => toPlannedEvent(process, event, now)),
  );
}

function toPlannedEvent(process: Process, event: Recorded, now: Date): PlannedEvent {
  const timer = laterTimer(process, event, now);
  return { process: process.name, key: keyOf(process, event), event, ...(timer && { timer }) };
}

/**
 * Returns the listeners that may concern each event. They are known only for events after the position of `listenersReader` (`after`),
 * which is advanced over them.
 */
function listenersPerEvent(
  listeners: KnownListeners,
  events: readonly Recorded[],
  after = Number.POSITIVE_INFINITY,
): (event: Recorded) => Listeners {
  const heard = new Map<Recorded, Listeners>();
  for (const event of events.filter(({ position }) => position > after)) {
    listeners.follow(event);
    heard.set(event, listeners.to(event));
  }
  return (event) => heard.get(event) ?? unknownListeners;
}

/** Returns the streams on which an obstacle may have ended, with the revision of the newest such event. */
export const endedObstacles = (events: readonly Recorded[]): Map<string, number> =>
  new Map(events.filter(mayEndObstacle).map(({ stream, revision }) => [stream, revision]));

/** True also for an event that this version cannot read: waiting lanes are then retried once. */
function mayEndObstacle(event: Recorded): boolean {
  if (isUnreadable(event)) return obstacleCategories.includes(categoryOf(event.stream));
  try {
    return canEndObstacle(event);
  } catch {
    return true;
  }
}
