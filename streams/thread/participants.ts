import { maxParticipants } from "./events.ts";

/** The addresses known so far, and after them those of `more` that are new, in lower case: so many as are recorded. */
export function joined(known: readonly string[], more: readonly string[]): readonly string[] {
  const fresh = more.map((address) => address.toLowerCase()).filter((address) => !known.includes(address));
  return fresh.length === 0 ? known : [...known, ...new Set(fresh)].slice(0, maxParticipants);
}
