import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { anyListeners } from "./listeners.ts";

/** Whether a process has anything to do about an event. Throws what the process throws where it cannot tell. */
export const concerns = (process: Process, event: Recorded, listeners: Listeners = anyListeners): boolean =>
  process.categories.includes(categoryOf(event.stream)) &&
  Object.hasOwn(process.on, event.type) &&
  (process.concerns?.(event, listeners) ?? true);

/**
 * The same for the planner: where the process cannot tell, its handling fails too, and the event is parked. One that cannot be read may be
 * anybody's: everybody who listens to its category tries it.
 */
export function mayConcern(process: Process, event: Recorded, listeners: Listeners): boolean {
  if (isUnreadable(event)) return process.categories.includes(categoryOf(event.stream));
  try {
    return concerns(process, event, listeners);
  } catch {
    return true;
  }
}

/** Those of these events that none of `events`, which hold them, answers later on. */
export function unanswered(
  { answered }: Process,
  asking: readonly Recorded[],
  events: readonly Recorded[],
): readonly Recorded[] {
  if (!answered || asking.length === 0) return asking;
  const answeredAt = new Map<string | null, number>();
  for (const event of events) answeredAt.set(nameBy(answered.answers, event), event.position);
  return asking.filter((event) => {
    const name = nameBy(answered.asks, event);
    return name === null || (answeredAt.get(name) ?? -1) < event.position;
  });
}

/** If the process cannot tell, nothing is asked and nothing is answered. */
export function nameBy(nameOf: (event: Recorded) => string | null, event: Recorded): string | null {
  if (isUnreadable(event)) return null;
  try {
    return nameOf(event);
  } catch {
    return null;
  }
}
