/** Prefixes of answers and forwards in the languages of common mail programs. */
const prefixes = /^(?:\s*(?:re|aw|sv|vs|antw|odp|ynt|ref|fwd?|wg|tr|rv)\s*(?:\[\d+\])?\s*:)+/i;

/** Returns what a subject is about: without prefixes, in lower case. */
export const withoutPrefixes = (subject: string): string => subject.replace(prefixes, "").trim().toLowerCase();
