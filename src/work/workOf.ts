import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { canEndObstacle, obstacleCategories } from "#streams/obstacleEnds.ts";
import { mayConcern, unanswered } from "./concerns.ts";
import { askBy, askingOf } from "./heldAsks.ts";
import { keyOf } from "./keys.ts";
import { anyListeners, type KnownListeners, listenersReader } from "./listeners.ts";
import type { Planned } from "./plan.ts";

/**
 * What these processes have to do about events: each about those that it has not got yet (`from`) and that may concern it. What an event
 * asks of it is left to the reader of that, behind where that has come (`asked`): the log may answer it. The listeners' reader does nothing but
 * read on.
 */
export function workOf(
  events: readonly Recorded[],
  from: ReadonlyMap<string, number>,
  {
    processes,
    listeners,
    asked = 0,
  }: { processes: readonly Process[]; listeners: KnownListeners; asked?: number | undefined },
): Planned[] {
  const heard = heardBy(listeners, events, from.get(listenersReader.name));
  const working = processes.filter((process) => process !== listenersReader);
  return working.flatMap((process) => {
    const left = (event: Recorded) => event.position > asked && askBy(process, event) !== null;
    const asking = events
      .filter((event) => event.position > from.get(process.name)! && !left(event))
      .filter((event) => mayConcern(process, event, heard(event)));
    return plannedOf(process, unanswered(process, asking, events));
  });
}

/** The same about what events ask, for the reader of that, which has come so far. */
export function unansweredOf(events: readonly Recorded[], after: number, processes: readonly Process[]): Planned[] {
  return askingOf(processes).flatMap((process) => {
    const asking = events
      .filter((event) => event.position > after && askBy(process, event) !== null)
      .filter((event) => mayConcern(process, event, anyListeners));
    return plannedOf(process, unanswered(process, asking, events));
  });
}

const plannedOf = (process: Process, events: readonly Recorded[]): Planned[] =>
  events.map((event) => ({ process: process.name, key: keyOf(process, event), event }));

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
