import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { anyListeners } from "./listeners.ts";

/** Whether a process has anything to do about an event. Throws what the process throws where it cannot tell. */
export const concerns = (process: Process, event: Recorded, listeners: Listeners = anyListeners): boolean =>
  process.categories.includes(categoryOf(event.stream)) &&
  (Object.hasOwn(process.on, event.type) || Object.hasOwn(process.later ?? {}, event.type)) &&
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
