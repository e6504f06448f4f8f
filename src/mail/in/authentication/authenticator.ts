import type { Clock } from "#src/platform/clock.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import { eachOf, type Lookup, type Resolver, withinTime } from "#src/platform/dns/resolver.ts";
import { TaskFault } from "#src/platform/threadPool/faults.ts";
import type { ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import type { Authentication } from "#streams/thread/events.ts";
import { type ClaimedSender, comparedDomains, concludeFindings } from "./concludeFindings.ts";
import { type DmarcPolicy, dmarcTree } from "./dmarc.ts";
import { dnsCircuitBreaker } from "./dnsCircuitBreaker.ts";
import type { ReceivedMail } from "./findings.ts";
import { createMailVerifier } from "./verifier.ts";

export type MailAuthenticator = {
  /**
   * Determines what a received mail proves about its sender. DNS look-ups have a fixed time limit. Never fails because of the mail's
   * content; rejects if its bytes cannot be loaded, or after the pool was closed.
   */
  authenticate(mail: ReceivedMail, sender: ClaimedSender): Promise<Authentication>;
};

/** The result when no check could be completed. */
export const unproven: Authentication = {
  spf: "temperror",
  dkim: "temperror",
  dmarc: "temperror",
  aligned: false,
  arc: "none",
};

const usualTimeMs = 10_000;
/**
 * Checks SPF, DKIM, DMARC and ARC by DNS. `timeMs` (default 10 s) limits all look-ups for one mail: a check that is not finished by then
 * is `temperror`. Zones that do not answer are skipped for the next mails. The pool bounds the computation.
 */
export function createMailAuthenticator(
  { resolver, clock, pool }: { resolver: Resolver; clock: Pick<Clock, "monotonic">; pool: Pick<ThreadPool, "run"> },
  { timeMs = usualTimeMs }: { timeMs?: number } = {},
): MailAuthenticator {
  const sparing = dnsCircuitBreaker(resolver, clock);
  const verifier = createMailVerifier(pool);
  return {
    async authenticate(mail, sender) {
      const limited = withOwnTimeout(sparing, { clock, timeMs });
      const { policyOf, organizationOf } = dmarcTree(limited);
      const address = sender.address ?? "";
      const domain = domainOfAddress(address);
      const [findings, policy] = await Promise.all([
        verifier.verify(mail, limited).catch(asUnknown),
        domain === "" ? ({ kind: "none" } satisfies DmarcPolicy) : policyOf(domain),
      ]);
      if (!findings) return unproven;
      const compared = comparedDomains(address, findings, policy);
      const organizations = await Promise.all(
        compared.map(async (name) => [name, await organizationOf(name)] as const),
      );
      return concludeFindings(sender, findings, { policy, organizations: new Map(organizations) });
    },
  };
}

/** A reader thread that the mail itself broke counts as an unknown result; every other error is thrown. */
function asUnknown(error: unknown): undefined {
  if (!(error instanceof TaskFault)) throw error;
}

/** Wraps a resolver with a limit on the total time of its look-ups. Time spent on other mails does not count. */
function withOwnTimeout(
  resolver: Resolver,
  { clock, timeMs }: { clock: Pick<Clock, "monotonic">; timeMs: number },
): Resolver {
  let waiting = 0;
  let since = 0;
  let spent = 0;
  const counted =
    <T>(lookUp: (name: string) => Promise<Lookup<T>>) =>
    async (name: string): Promise<Lookup<T>> => {
      if (waiting++ === 0) since = clock.monotonic();
      try {
        return await lookUp(name);
      } finally {
        if (--waiting === 0) spent += clock.monotonic() - since;
      }
    };
  const remaining = () => timeMs - spent - (waiting > 0 ? clock.monotonic() - since : 0);
  return eachOf(withinTime(resolver, remaining), counted);
}
