import type { Request } from "express";
import type { KeyPrincipal } from "../framework/principal.ts";
import type { LimitClass } from "../framework/route.ts";

/** One HTTP request of a client. */
export type McpRequest = {
  key: KeyPrincipal;
  request: Request;
  /** Aborted when the key is revoked. */
  signal: AbortSignal;
  /** Ends the request where it is: its place is another's. */
  end(): void;
  /** Counts a call; throws Rejected rate_limited. */
  count(limit: LimitClass): Promise<void>;
  /** Throws Rejected unauthorized if the key was revoked meanwhile; waits until this instance would know. */
  requireLive(): Promise<void>;
};
