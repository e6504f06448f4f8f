import type { Request } from "express";
import { Rejected } from "#streams/decider.ts";
import type { Credential } from "../door.ts";
import type { KeyPrincipal } from "../principal.ts";
import type { Strangers } from "../rateLimits/strangers.ts";
import type { Authenticate, CarriesRevoked } from "./authenticate.ts";
import type { InFlight } from "./inFlight.ts";

export type KeyOptions = {
  authenticate: Authenticate;
  /** Callers with such a key are not refused for having asked too often (default: there are none). */
  carriesRevoked?: CarriesRevoked;
  /** Counts requests without a live key. */
  strangers?: Pick<Strangers, "count">;
  inFlight: InFlight;
  /** Resolves when this instance knows every revocation that another may have answered; throws Unavailable if it cannot find out. */
  upToDate?: () => void | Promise<void>;
};

/**
 * Callers are known by their API key. Each request without a live key is counted against its sender, and refused with rate_limited above the rate; but
 * never one with a key that was revoked: its holder would wait and try again, and not learn that it is of no use any more.
 */
export function keyCredential(options: KeyOptions): Credential<KeyPrincipal> {
  const { authenticate, carriesRevoked = async () => false, strangers, inFlight, upToDate } = options;

  async function countUnlessRevoked(request: Request): Promise<void> {
    try {
      await strangers?.count("bad_key", request);
    } catch (tooMany) {
      if (!(await carriesRevoked(request))) throw tooMany;
    }
  }

  return {
    async credential(request) {
      try {
        return await authenticate(request);
      } catch (error) {
        if (error instanceof Rejected) await countUnlessRevoked(request);
        throw error;
      }
    },
    enter: (key, callId) => inFlight.enter(key.id, callId),
    upToDate,
  };
}
