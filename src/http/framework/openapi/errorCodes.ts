import { type ErrorCode, statuses } from "../errors.ts";
import type { Route } from "../route.ts";

/** An error that a route may answer. `conflict`: set for invalid_request with status 409, says when it occurs. */
export type DocumentedError = { code: ErrorCode; status: number; conflict?: string };

/** Returns all errors of a route: the declared ones, and those common to routes of its kind. */
export function errorsOf(route: Route): DocumentedError[] {
  const { conflict } = route.options;
  const own = [...new Set(codesOf(route))].map((code) => ({ code, status: statuses[code] }));
  return conflict === undefined ? own : [...own, { code: "invalid_request", status: 409, conflict }];
}

function codesOf(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = [
    "invalid_request",
    "rate_limited",
    "internal_error",
    "unavailable",
    ...(route.options.errors ?? []),
  ];
  if (route.scope !== null) codes.push("unauthorized", "insufficient_scope");
  if (route.paramNames.length > 0) codes.push("not_found");
  if (route.method !== "GET") codes.push("payload_too_large");
  if (route.options.ifMatch) codes.push("version_mismatch");
  if (route.method === "POST" && route.scope !== null) codes.push("idempotency_mismatch", "idempotency_in_flight");
  return codes;
}
