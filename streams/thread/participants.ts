import { maxParticipants } from "./events.ts";

/** Returns the known addresses, followed by those of `more` that are new, in lower case, up to the limit. */
export function addParticipants(known: readonly string[], more: readonly string[]): readonly string[] {
  const fresh = more.map((address) => address.toLowerCase()).filter((address) => !known.includes(address));
  return fresh.length === 0 ? known : [...known, ...new Set(fresh)].slice(0, maxParticipants);
}
