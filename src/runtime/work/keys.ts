import type { Process } from "#src/processes/process.ts";
import type { Recorded } from "#streams/event.ts";

/** As long as an index of PostgreSQL takes without harm. */
const longestKey = 500;

/** The key under which a process handles an event. Throws where there is none that the work table can store. */
export function keyFor(process: Process, event: Recorded): string {
  const key: unknown = process.keyOf(event);
  if (!isStorable(key)) throw new Error(`it has no key for ${process.name}`);
  return key;
}

/** The same for the planner: an event whose key cannot be told goes under its stream; its handler fails then, and it is parked. */
export function keyOf(process: Process, event: Recorded): string {
  try {
    return keyFor(process, event);
  } catch {
    return event.stream;
  }
}

/** Whose event it is, "" if it has no workspace: also if its metadata are not ours. */
export function workspaceOf({ metadata }: Recorded): string {
  const id: unknown = metadata?.workspaceId;
  return isStorable(id) ? id : "";
}

const isStorable = (text: unknown): text is string =>
  typeof text === "string" && text !== "" && text.length <= longestKey && !text.includes("\u0000");
