import type { IncomingMessage } from "node:http";
import { Rejected } from "#streams/decider.ts";
import type { KeyPrincipal } from "../principal.ts";

/** Resolves with the API key of a request; throws `unauthorized`, with the same sentence for every cause. */
export type Authenticate = (request: IncomingMessage) => Promise<KeyPrincipal>;

/** True if a request carries a revoked key. */
export type CarriesRevoked = (request: IncomingMessage) => Promise<boolean>;

export const unauthorized = (): Rejected =>
  new Rejected(
    "unauthorized",
    "the API key is missing, malformed or revoked: send a valid key as Authorization: Bearer svc_live_…",
  );

export function createAuthenticate(deps: {
  findKey: (hash: string) => Promise<KeyPrincipal | undefined>;
  keyHash: (key: string) => string;
}): Authenticate {
  return async (request) => {
    const key = bearerOf(request);
    const found = key === undefined ? undefined : await deps.findKey(deps.keyHash(key));
    if (found === undefined) throw unauthorized();
    return found;
  };
}

export const createCarriesRevoked =
  (deps: { isRevoked: (hash: string) => Promise<boolean>; keyHash: (key: string) => string }): CarriesRevoked =>
  async (request) => {
    const key = bearerOf(request);
    return key !== undefined && (await deps.isRevoked(deps.keyHash(key)));
  };

/** The API key in the Authorization header; undefined if it is absent, malformed or given more than once. */
export function bearerOf(request: IncomingMessage): string | undefined {
  const headers = request.headersDistinct.authorization ?? [];
  const match = headers.length === 1 ? /^bearer +(\S+)$/i.exec(headers[0]!) : null;
  return match !== null && /^svc_live_[0-9A-Za-z]{32}$/.test(match[1]!) ? match[1] : undefined;
}
