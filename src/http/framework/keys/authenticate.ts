import type { IncomingMessage } from "node:http";
import { Rejected } from "#streams/decider.ts";

/** A live key as it is found by its hash. */
export type ApiKeyIdentity = {
  id: string;
  workspaceId: string;
  name: string;
  scopes: readonly string[];
  /** The revision of the key's own stream while the key is live. Commands pass it to the append, so that nothing follows a revocation. */
  guard?: { stream: string; revision: number };
};

/** Who sends this request; throws `unauthorized`, in the same words whatever was wrong. */
export type Authenticate = (request: IncomingMessage) => Promise<ApiKeyIdentity>;

export const unauthorized = (): Rejected =>
  new Rejected(
    "unauthorized",
    "the API key is missing, malformed or revoked: send a valid key as Authorization: Bearer svc_live_…",
  );

export function createAuthenticate(deps: {
  findKey: (hash: string) => Promise<ApiKeyIdentity | undefined>;
  keyHash: (key: string) => string;
}): Authenticate {
  return async (request) => {
    const key = bearerOf(request);
    const found = key === undefined ? undefined : await deps.findKey(deps.keyHash(key));
    if (found === undefined) throw unauthorized();
    return found;
  };
}

/** The key a request carries; undefined if it carries none, one that is malformed, or more than one. */
export function bearerOf(request: IncomingMessage): string | undefined {
  const headers = request.headersDistinct.authorization ?? [];
  const match = headers.length === 1 ? /^bearer +(\S+)$/i.exec(headers[0]!) : null;
  return match !== null && /^svc_live_[0-9A-Za-z]{32}$/.test(match[1]!) ? match[1] : undefined;
}
