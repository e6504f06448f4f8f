import type { Process, Timer } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";
import { traceOfEvent } from "./handlerContext.ts";
import { keyFor } from "./keys.ts";

/**
 * Returns the timer that an event sets instead of being handled at once. Undefined if there is none, or if `later` throws: then the event
 * is planned, and its handler fails.
 */
export function laterTimer(process: Process, event: Recorded, now: Date): Timer | undefined {
  if (!Object.hasOwn(process.later ?? {}, event.type)) return undefined;
  try {
    const { name, payload, ...due } = process.later![event.type]!(event);
    const dueAt = "dueAt" in due ? due.dueAt : new Date(now.getTime() + due.inMs);
    return { key: keyFor(process, event), name, dueAt, payload: { ...payload, ...traceOfEvent(event) } };
  } catch {
    return undefined;
  }
}
