import type { Process } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";

/** Characters: short enough for an index of PostgreSQL. */
const longestKey = 500;

/** Returns the key under which a process handles an event. Throws if it has none that the work table can store. */
export function keyFor(process: Process, event: Recorded): string {
  const key: unknown = process.keyOf(event);
  if (!isStorable(key)) throw new Error(`it has no key for ${process.name}`);
  return key;
}

/**
 * Like `keyFor`, for the planner: an event without a storable key goes under its stream. Its handler then fails, and the event is parked.
 */
export function keyOf(process: Process, event: Recorded): string {
  try {
    return keyFor(process, event);
  } catch {
    return event.stream;
  }
}

/** Returns the workspace of an event; "" if it has none or its metadata are malformed. */
export function workspaceOf({ metadata }: Recorded): string {
  const id: unknown = metadata?.workspaceId;
  return isStorable(id) ? id : "";
}

const isStorable = (text: unknown): text is string =>
  typeof text === "string" && text !== "" && text.length <= longestKey && !text.includes("\u0000");
