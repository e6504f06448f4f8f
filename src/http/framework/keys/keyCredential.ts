import type { Request } from "express";
import { Rejected } from "#streams/decider.ts";
import type { Credential } from "../entryPoint.ts";
import type { KeyPrincipal } from "../principal.ts";
import type { UnauthenticatedLimits } from "../rateLimits/unauthenticatedLimits.ts";
import type { Authenticate, CarriesRevoked } from "./authenticate.ts";
import type { RequestsInFlight } from "./requestsInFlight.ts";

export type KeyOptions = {
  authenticate: Authenticate;
  /** True if the request carries a revoked key: such requests are not rate limited (default: no key is revoked). */
  carriesRevoked?: CarriesRevoked;
  /** Counts requests without a live key. */
  strangers?: Pick<UnauthenticatedLimits, "count">;
  inFlight: RequestsInFlight;
  /**
   * Resolves when this instance has read every revocation that another instance has confirmed; throws Unavailable if it cannot read them.
   */
  upToDate?: () => void | Promise<void>;
};

/**
 * Identifies callers by API key. Requests without a live key are counted per address and refused with rate_limited above the rate; except
 * those with a revoked key, whose holder must get 401 rather than wait and retry.
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
