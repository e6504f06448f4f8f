import type { Clock } from "#src/platform/clock.ts";
import { domainOfAddress } from "#src/platform/dns/names.ts";
import { eachOf, type Lookup, type Resolver, withinTime } from "#src/platform/dns/resolver.ts";
import { TaskFault } from "#src/platform/threadPool/faults.ts";
import type { ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import type { Authentication } from "#streams/thread/events.ts";
import { type DmarcPolicy, findDmarcPolicy } from "./dmarc.ts";
import type { ReceivedMail } from "./findings.ts";
import { type ClaimedSender, judge } from "./judge.ts";
import { sparingDeadZones } from "./sparingDeadZones.ts";
import { createMailVerifier } from "./verifier.ts";

export type MailAuthenticator = {
  /**
   * What a received mail proves about its sender. DNS has the time it may take and no longer. Never fails because of the mail; rejects where
   * its bytes cannot be had, and after the pool was closed.
   */
  authenticate(mail: ReceivedMail, sender: ClaimedSender): Promise<Authentication>;
};

/** Nothing could be found out. */
export const unproven: Authentication = {
  spf: "temperror",
  dkim: "temperror",
  dmarc: "temperror",
  aligned: false,
  arc: "none",
};

const usualTimeMs = 10_000;
/**
 * SPF, DKIM, DMARC and ARC by DNS, `timeMs` (10 s) for all that is asked about a mail: what could not be found out by then is `temperror`.
 * Where DNS is silent the next mails do not wait. What is reckoned meanwhile is bounded by the pool.
 */
export function createMailAuthenticator(
  { resolver, clock, pool }: { resolver: Resolver; clock: Pick<Clock, "monotonic">; pool: Pick<ThreadPool, "run"> },
  { timeMs = usualTimeMs }: { timeMs?: number } = {},
): MailAuthenticator {
  const sparing = sparingDeadZones(resolver, clock);
  const verifier = createMailVerifier(pool);
  return {
    async authenticate(mail, sender) {
      const limited = withinTimeOfItsOwn(sparing, { clock, timeMs });
      const domain = sender.address === null ? "" : domainOfAddress(sender.address);
      const [findings, policy] = await Promise.all([
        verifier.verify(mail, limited).catch(asUnknown),
        domain === "" ? ({ kind: "none" } satisfies DmarcPolicy) : findDmarcPolicy(limited, domain),
      ]);
      return findings ? judge(sender, findings, policy) : unproven;
    },
  };
}

/** What the mail did to its reader makes nothing known of it; everything else is not the mail's. */
function asUnknown(error: unknown): undefined {
  if (!(error instanceof TaskFault)) throw error;
}

/** The same resolver for so long in all, counted while somebody waits for an answer: that others' mail is read meanwhile takes nothing away. */
function withinTimeOfItsOwn(
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
