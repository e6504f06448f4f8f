import { arc, dkimVerify, spf } from "mailauth";
import type { ArcResult, DkimResult, Findings, ReceivedMail, SpfResult } from "./findings.ts";

/** A look-up in the shape of node:dns, which the library expects; failures have its codes. */
export type LookUp = (name: string, type: string) => Promise<any>;

/** SPF, every DKIM signature and the ARC chain of a mail. Slow, and as dear as the mail is large: for a thread of its own. */
export async function verifyMail({ raw, envelopeFrom, remote }: ReceivedMail, resolver: LookUp): Promise<Findings> {
  const [sender, dkim] = await Promise.all([
    spf({ sender: envelopeFrom, ip: remote.ip, helo: remote.helo || remote.ip, mta: "localhost", resolver }),
    dkimVerify(raw, { sender: envelopeFrom, resolver }) as Promise<any>,
  ]);
  const chain = await arc(dkim.arc, { resolver });
  const signatures = dkim.results.filter((signature: any) => signature.signingDomain);
  return {
    spf: { result: spfResult(sender.status.result), domain: sender.domain || "" },
    signatures: signatures.map((signature: any) => ({
      result: dkimResult(signature),
      domain: signature.signingDomain.toLowerCase(),
    })),
    arc: arcResult(chain.status?.result),
    from: dkim.headerFrom,
  };
}

const spfResults: readonly string[] = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"];
const spfResult = (result: string): SpfResult => (spfResults.includes(result) ? (result as SpfResult) : "permerror");

const arcResult = (result: unknown): ArcResult => (result === "pass" || result === "fail" ? result : "none");

/** The library's result, and what it lets pass although it proves nothing: a body signed in part, From not signed at all, SHA-1. */
function dkimResult({ status, signingHeaders, algo }: any): DkimResult {
  if (status.result === "fail" || status.comment === "body hash did not verify") return "fail";
  if (status.result === "temperror") return "temperror";
  if (status.result !== "pass") return "neutral";
  const signed: string[] = signingHeaders.keys.toLowerCase().split(/:\s*/);
  if (!signed.includes("from")) return "permerror";
  return status.underSized || /sha1$/i.test(algo) ? "neutral" : "pass";
}
