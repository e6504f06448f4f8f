import { squeezed } from "./besideLines.ts";

/** Prefixes of answers and forwards in the languages of common mail programs. */
const prefix = String.raw`(?:re|aw|sv|vs|antw|odp|ynt|ref|fwd?|wg|tr|rv)\s*(?:\[\d+\])?\s*:`;
const prefixes = new RegExp(String.raw`^(?:\s*${prefix})+`, "i");
/** Prefixes, and what lists and filters put before a subject: `[list]`, `{Spam?}`, `***SPAM***`. */
const marks = new RegExp(
  String.raw`^(?:\s*(?:${prefix}|\[[^\][]{1,40}\]|\{[^{}]{1,40}\}|\*{2,}[^*]{1,40}\*{2,}))+`,
  "i",
);

/** Returns what a subject is about: without prefixes, in lower case. */
export const withoutPrefixes = (subject: string): string => subject.replace(prefixes, "").trim().toLowerCase();

const withoutMarks = (subject: string): string => squeezed(subject.replace(marks, "")).toLowerCase();

/** True if two subjects have the same words, whatever prefixes and marks servers and mail programs put before them. */
export const isSameSubject = (one: string, other: string): boolean => withoutMarks(one) === withoutMarks(other);
