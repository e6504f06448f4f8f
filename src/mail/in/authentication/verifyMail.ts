import { arc, dkimVerify, spf } from "mailauth";
import { readHeaderFields } from "#src/mail/in/headerFields.ts";
import {
  type ArcResult,
  addressFields,
  type DkimResult,
  type FieldCounts,
  type Findings,
  type ReceivedMail,
  type SpfResult,
} from "./findings.ts";

/** A look-up in the shape of node:dns, which the library expects; failures have its codes. */
export type LookUp = (name: string, type: string) => Promise<any>;

/** SPF, every DKIM signature and the ARC chain of a mail. Slow, and as dear as the mail is large: for a thread of its own. */
export async function verifyMail({ raw, envelopeFrom, remote }: ReceivedMail, resolver: LookUp): Promise<Findings> {
  const [sender, dkim] = await Promise.all([
    senderOf(envelopeFrom, remote, resolver),
    dkimVerify(raw, { sender: envelopeFrom, resolver }) as Promise<any>,
  ]);
  const chain = await arc(dkim.arc, { resolver });
  const signatures = dkim.results.filter((signature: any) => signature.signingDomain);
  return {
    spf: sender,
    signatures: signatures.map((signature: any) => ({
      result: dkimResult(signature),
      domain: signature.signingDomain.toLowerCase(),
      signed: countsOf((name) => signedFields(signature).filter((signed) => signed === name).length),
    })),
    occurring: occurrencesIn(raw, dkim.headers?.parsed ?? []),
    arc: arcResult(chain.status?.result),
    from: dkim.headerFrom,
  };
}

/** Of a mail that our own relay brought without naming its client, nobody knows where it came from: no record is asked about the relay. */
async function senderOf(
  envelopeFrom: string,
  remote: ReceivedMail["remote"],
  resolver: LookUp,
): Promise<Findings["spf"]> {
  if (remote.relay) return { result: "none", domain: "" };
  const helo = remote.helo || remote.ip;
  const { status, domain } = await spf({ sender: envelopeFrom, ip: remote.ip, helo, mta: "localhost", resolver });
  return { result: spfResult(status.result), domain: domain || "" };
}

const spfResults: readonly string[] = ["pass", "fail", "softfail", "neutral", "none", "temperror", "permerror"];
const spfResult = (result: string): SpfResult => (spfResults.includes(result) ? (result as SpfResult) : "permerror");

const arcResult = (result: unknown): ArcResult => (result === "pass" || result === "fail" ? result : "none");

/** The library's result, and what it lets pass although it proves nothing: a body signed in part, From not signed at all, SHA-1. */
function dkimResult({ status, signingHeaders, algo }: any): DkimResult {
  if (status.result === "fail" || status.comment === "body hash did not verify") return "fail";
  if (status.result === "temperror") return "temperror";
  if (status.result !== "pass") return "neutral";
  if (!signedFields({ signingHeaders }).includes("from")) return "permerror";
  return status.underSized || /sha1$/i.test(algo) ? "neutral" : "pass";
}

/** The names of the fields that were really signed: of those in `h=` the library keeps one for each occurrence that it found in the mail. */
const signedFields = ({ signingHeaders }: any): string[] => signingHeaders.keys.toLowerCase().split(/:\s*/);

/**
 * By this service's own reading and by the library's: each takes for a field what the other does not (a name that is folded before its colon),
 * and a field that only one of them sees must not pass for a signed one.
 */
function occurrencesIn(raw: Buffer, parsed: readonly { key: string | null }[]): FieldCounts {
  const own = readHeaderFields(raw, new Set(addressFields));
  return countsOf((name) => Math.max(own.count(name), parsed.filter(({ key }) => key === name).length));
}

const countsOf = (count: (name: keyof FieldCounts) => number): FieldCounts => ({
  to: count("to"),
  cc: count("cc"),
  "reply-to": count("reply-to"),
});
