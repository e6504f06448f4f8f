import type { Request } from "express";
import type { KeyPrincipal } from "../framework/principal.ts";
import type { LimitClass } from "../framework/route.ts";

/** One HTTP request of an MCP client. */
export type McpRequest = {
  key: KeyPrincipal;
  request: Request;
  /** Aborted when the key is revoked. */
  signal: AbortSignal;
  /** URIs of the resources to which it subscribes, as the client writes them. */
  subscribed: readonly string[];
  /** Ends the request immediately, because another request has taken its place. */
  end(): void;
  /** Counts a call; throws Rejected rate_limited. */
  count(limit: LimitClass): Promise<void>;
  /** Throws Rejected unauthorized if the key was revoked meanwhile; waits until this instance has read all revocations. */
  requireLive(): Promise<void>;
};
