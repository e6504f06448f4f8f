import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { invalid } from "./framework/errors.ts";
import type { Caller } from "./framework/route.ts";

/** Throws Rejected insufficient_scope if the caller may not read earlier states. */
export function requireAudit(principal: Caller["principal"]): void {
  if (principal.scopes.includes("read:audit")) return;
  throw new Rejected(
    "insufficient_scope",
    "reading an earlier state (at, version) needs the scope read:audit, which this API key does not have",
  );
}

/**
 * Returns the time in the query parameter `at`; undefined if it is absent, so that the present state is asked for. Throws Rejected
 * insufficient_scope, and invalid_request for a time in the future.
 */
export function timeAsked(
  { clock }: Pick<HttpDependencies, "clock">,
  at: string | undefined,
  principal: Caller["principal"],
): Date | undefined {
  if (at === undefined) return undefined;
  requireAudit(principal);
  const time = new Date(at);
  if (time > clock.now()) throw invalid("at", "expected a time that is not in the future");
  return time;
}

/** Returns what existed at a time. Throws Rejected not_found, which does not reveal if it exists elsewhere or at another time. */
export function requireThen<T>(then: T | undefined, at: Date): T {
  if (then !== undefined) return then;
  throw new Rejected("not_found", `at: there was no such resource at ${at.toISOString()}`, { field: "at" });
}
