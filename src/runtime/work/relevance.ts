import { isUnreadable } from "#src/eventStore/eventStore.ts";
import type { Listeners, Process } from "#src/processes/process.ts";
import { categoryOf, type Recorded } from "#streams/event.ts";
import { unknownListeners } from "./listeners.ts";

/** True if the process has anything to do about the event. Throws the process's own error if it cannot judge the event. */
export const isRelevant = (process: Process, event: Recorded, listeners: Listeners = unknownListeners): boolean =>
  process.categories.includes(categoryOf(event.stream)) &&
  (Object.hasOwn(process.on, event.type) || Object.hasOwn(process.later ?? {}, event.type)) &&
  (process.concerns?.(event, listeners) ?? true);

/**
 * Like `concerns`, for the planner, and never throws. If the process cannot judge the event, the answer is true: its handler then fails as
 * well, and the event is parked. An event that cannot be read concerns every process that listens to its category.
 */
export function mayBeRelevant(process: Process, event: Recorded, listeners: Listeners): boolean {
  if (isUnreadable(event)) return process.categories.includes(categoryOf(event.stream));
  try {
    return isRelevant(process, event, listeners);
  } catch {
    return true;
  }
}
