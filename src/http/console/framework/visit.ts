import type { Request } from "express";
import type { WorkspaceRow } from "#projections/workspaces/queries.ts";
import type { RouteCall } from "../../framework/inProcess.ts";
import type { Scope } from "../../framework/keys/scopes.ts";
import type { SessionPrincipal } from "../../framework/principal.ts";
import type { Reply } from "../../framework/reply.ts";
import type { Line } from "../../framework/route.ts";
import type { Answers } from "../../routes.ts";

/** What a page could not do, as it says so: the contract's code and sentence, the field it is about, and the status of the page. */
export type Refused = {
  status: number;
  code: string;
  message: string;
  field: string | undefined;
  details: Record<string, unknown>;
  /** Seconds, where it is worth another try. */
  retryAfter: string | undefined;
};

/** One request of a signed-in person for a page, or with a form of one. */
export type Visit = {
  principal: SessionPrincipal;
  params: Record<string, string>;
  query: URLSearchParams;
  /** What the form says; empty for a page that is only looked at. */
  form: URLSearchParams;
  /** Path and query, as the browser asked. */
  path: string;
  /** The reader's time zone by its IANA name; UTC until the browser has told. */
  zone: string;
  /** What every form of this visit carries. */
  formToken: string;
  /** Aborted when the session ends. */
  signal: AbortSignal;
  request: Request;
  /** Whether the role has this right; what it has not is not offered. */
  may(scope: Scope): boolean;
  /** The workspace, read once for the whole visit; undefined while the read model does not know it. */
  workspace(): Promise<WorkspaceRow | undefined>;
  /** The JSON answer of a route, under the role's scopes and the route's own rules. Throws Rejected, Unavailable. */
  ask<L extends keyof Answers>(line: L, call?: RouteCall): Promise<Answers[L]>;
  /** The same as it would go out: for files. */
  askRaw(line: Line, call?: RouteCall): Promise<Reply>;
  /** Does the work; if it is refused, says how, so that the form can be shown again. Other errors pass. */
  attempt(work: () => Promise<unknown>): Promise<Refused | undefined>;
  /** For what needs a password that was given in the last 10 minutes: leads to where it is typed, if it was not. */
  requirePassword(): void;
};

/** The password has to be given again before this is done. */
export class PasswordNeeded extends Error {
  override readonly name = "PasswordNeeded";
}
