import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { anyListeners } from "./listeners.ts";

/** Whether a process has anything to do about an event. Throws what the process throws where it cannot tell. */
export const concerns = (process: Process, event: Recorded, listeners: Listeners = anyListeners): boolean =>
  process.categories.includes(categoryOf(event.stream)) &&
  process.on[event.type] !== undefined &&
  (process.concerns?.(event, listeners) ?? true);

/** The same for the planner: where the process cannot tell, its handling fails too, and the event is parked. */
export function mayConcern(process: Process, event: Recorded, listeners: Listeners): boolean {
  try {
    return concerns(process, event, listeners);
  } catch {
    return true;
  }
}
