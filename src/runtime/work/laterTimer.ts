import type { Process, Timer } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";
import { traceOfEvent } from "./handlerContext.ts";
import { keyFor } from "./keys.ts";

/** The timer that an event sets instead of being handed over. An event for which the process cannot tell is handed over, and fails. */
export function laterTimer(process: Process, event: Recorded, now: Date): Timer | undefined {
  if (!Object.hasOwn(process.later ?? {}, event.type)) return undefined;
  try {
    const { name, inMs, payload } = process.later![event.type]!(event);
    const dueAt = new Date(now.getTime() + inMs);
    return { key: keyFor(process, event), name, dueAt, payload: { ...payload, ...traceOfEvent(event) } };
  } catch {
    return undefined;
  }
}
