import { cutText } from "../cutText.ts";
import { invalidRequest, type Rejected } from "../decider.ts";

/** Creates the rejection of a rule: the path of the fault, and what was expected there. */
export const invalidRule = (path: string, sentence: string): Rejected => invalidRequest(path, sentence);

/** Requires a JSON object with no other keys. Throws Rejected invalid_request. */
export function requireObject(value: unknown, path: string, known: readonly string[]): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidRule(path, "expected an object");
  const odd = Object.keys(value).find((name) => !known.includes(name));
  if (odd !== undefined) {
    const shown = /^[\w-]{1,64}$/.test(odd) ? odd : JSON.stringify(cutText(odd, 64));
    throw invalidRule(`${path}.${shown}`, `unknown field: expected ${known.join(", ")}`);
  }
  return value as Record<string, unknown>;
}

export function requireList(value: unknown, path: string): unknown[] {
  if (!Array.isArray(value)) throw invalidRule(path, "expected an array");
  return value;
}

export function requireText(value: unknown, path: string): string {
  if (typeof value !== "string") throw invalidRule(path, "expected a string");
  return value;
}

/** Requires one line of 1 to `maxLength` characters. */
export function requireLine(value: unknown, path: string, maxLength: number): string {
  const text = requireText(value, path);
  if (text.length < 1 || text.length > maxLength || /[\r\n]/.test(text)) {
    throw invalidRule(path, `expected text without line breaks of 1 to ${maxLength} characters`);
  }
  return text;
}

export function requireOneOf<const Known extends readonly string[]>(value: unknown, path: string, known: Known) {
  if (typeof value !== "string" || !known.includes(value)) {
    throw invalidRule(path, `expected ${known.length === 1 ? known[0] : `one of ${known.join(", ")}`}`);
  }
  return value as Known[number];
}
