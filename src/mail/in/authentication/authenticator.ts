import type { Clock } from "#src/clock.ts";
import { domainOfAddress } from "#src/dns/names.ts";
import { type Resolver, withinTime } from "#src/dns/resolver.ts";
import { readHeaderFields } from "#src/mail/in/headerFields.ts";
import type { Authentication } from "#streams/thread/events.ts";
import { type DmarcPolicy, findDmarcPolicy } from "./dmarc.ts";
import type { Findings, ReceivedMail } from "./findings.ts";
import { type ClaimedSender, judge } from "./judge.ts";
import { createMailVerifier, type MailVerifier } from "./verifier.ts";

export type MailAuthenticator = {
  /** What a received mail proves about its sender. Takes the time it may take and no longer; never rejects. */
  authenticate(mail: ReceivedMail, sender: ClaimedSender): Promise<Authentication>;
  close(): Promise<void>;
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
/** What is left for judging when the last look-up is given up. */
const marginMs = 500;

/**
 * SPF, DKIM, DMARC and ARC by DNS, `timeMs` (10 s) in all: what could not be found out by then is `temperror`. `verifier`: one of its own
 * unless given; closing closes it either way.
 */
export function createMailAuthenticator(
  resolver: Resolver,
  clock: Pick<Clock, "monotonic">,
  { timeMs = usualTimeMs, verifier = createMailVerifier() }: { timeMs?: number; verifier?: MailVerifier } = {},
): MailAuthenticator {
  return {
    async authenticate(mail, sender) {
      const deadline = clock.monotonic() + timeMs - Math.min(marginMs, timeMs / 2);
      const limited = withinTime(resolver, () => deadline - clock.monotonic());
      const domain = sender.address === null ? "" : domainOfAddress(sender.address);
      const [findings, policy] = await Promise.all([
        isOverloaded(mail.raw) ? overloaded : verifier.verify(mail, limited, timeMs),
        domain === "" ? ({ kind: "none" } satisfies DmarcPolicy) : findDmarcPolicy(limited, domain),
      ]);
      return findings ? judge(sender, findings, policy) : unproven;
    },
    close: () => verifier.close(),
  };
}

const maxHeaderBytes = 256 * 1024;
const maxHeaderLines = 4_000;
const maxSignatures = 20;
const signatureFields = ["dkim-signature", "arc-message-signature", "arc-seal"];

/** Headers as no mail needs them, whose checking would cost more than they are worth. */
function isOverloaded(raw: Buffer): boolean {
  const fields = readHeaderFields(raw, new Set(signatureFields));
  const header = raw.subarray(0, raw.length - fields.body.length);
  if (header.length > maxHeaderBytes) return true;
  let lines = 0;
  for (let at = header.indexOf(0x0a); at >= 0; at = header.indexOf(0x0a, at + 1)) lines += 1;
  return lines > maxHeaderLines || signatureFields.some((name) => fields.count(name) > maxSignatures);
}

/** Such a mail proves nothing, and never will. */
const overloaded: Findings = {
  spf: { result: "permerror", domain: "" },
  signatures: [{ result: "permerror", domain: "", signed: { to: 0, cc: 0, "reply-to": 0 } }],
  occurring: { to: 0, cc: 0, "reply-to": 0 },
  arc: "none",
  from: [],
};
