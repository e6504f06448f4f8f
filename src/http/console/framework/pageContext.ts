import type { Request } from "express";
import type { WorkspaceRow } from "#projections/workspaces/queries.ts";
import type { RouteCall } from "../../framework/inProcess.ts";
import type { Scope } from "../../framework/keys/scopes.ts";
import type { SessionPrincipal } from "../../framework/principal.ts";
import type { Reply } from "../../framework/reply.ts";
import type { RouteLine } from "../../framework/route.ts";
import type { Answers } from "../../routes.ts";

/** A refusal as a page shows it: the contract's code and sentence, the field it is about, and the status of the page. */
export type PageRefusal = {
  status: number;
  code: string;
  message: string;
  field: string | undefined;
  details: Record<string, unknown>;
  /** Seconds after which to retry, if that makes sense. */
  retryAfter: string | undefined;
};

/** The context of one page or form request of a signed-in person. */
export type PageContext = {
  principal: SessionPrincipal;
  params: Record<string, string>;
  query: URLSearchParams;
  /** The submitted form; empty for a GET. */
  form: URLSearchParams;
  /** Path and query of the request. */
  path: string;
  /** IANA name of the reader's time zone; UTC until the browser has sent it. */
  zone: string;
  /** CSRF token for the forms of the page. */
  formToken: string;
  /** Aborted when the session ends. */
  signal: AbortSignal;
  request: Request;
  /** True if the role has this scope. Pages do not offer what the role may not do. */
  may(scope: Scope): boolean;
  /** The workspace, read once per request; undefined while the read model does not have it. */
  workspace(): Promise<WorkspaceRow | undefined>;
  /** Calls a route under the role's scopes and the route's own rules, and returns its JSON answer. Throws Rejected, Unavailable. */
  ask<L extends keyof Answers>(line: L, call?: RouteCall): Promise<Answers[L]>;
  /** Calls a route and returns its reply unparsed: for files. */
  askRaw(line: RouteLine, call?: RouteCall): Promise<Reply>;
  /** Runs the work and returns its refusal, if any, so that the form can be shown again. Other errors are thrown. */
  attempt(work: () => Promise<unknown>): Promise<PageRefusal | undefined>;
  /** Throws PasswordNeeded unless the password was entered in the last 10 minutes. */
  requirePassword(): void;
};

/** The password must be entered again first. */
export class PasswordNeeded extends Error {
  override readonly name = "PasswordNeeded";
}
