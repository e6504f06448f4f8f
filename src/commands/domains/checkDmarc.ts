import { dmarcTree } from "#src/mail/in/authentication/dmarc.ts";
import { quoted } from "#src/platform/dns/quoted.ts";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import type { RecordFinding } from "#streams/domain/events.ts";

/** Checks whether receivers find a DMARC policy for mail from a domain: its own, or one of a name above it. */
export async function checkDmarc(resolver: Pick<Resolver, "txt">, domain: string): Promise<RecordFinding> {
  const policy = await dmarcTree(resolver).policyOf(domain);
  const own = await resolver.txt(`_dmarc.${domain}`);
  if (policy.kind === "policy") {
    const reason = policy.at === domain ? null : `the policy of ${policy.at} applies`;
    return { status: "verified", reason };
  }
  if (policy.kind === "temperror" || own.outcome === "temporary_failure")
    return { status: "temporary_failure", reason: "DNS did not answer" };
  const found =
    own.outcome === "found" ? `receivers cannot use ${quoted(own.records)}` : `no TXT record at _dmarc.${domain}`;
  return { status: "failed", reason: `${found}, and no name above has a policy` };
}
