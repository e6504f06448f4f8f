// Imported part by part: the whole library, with its logo and certificate checks, takes twice the memory in each thread.
import { arc } from "mailauth/lib/arc/index.js";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { readHeaderFields, startOfBody } from "#src/mail/in/headerFields.ts";
import {
  type ArcResult,
  addressFields,
  type DkimResult,
  type DnsAnswers,
  type DnsQuestion,
  type FieldCounts,
  type Findings,
  type ResultOrQuestions,
} from "./findings.ts";
import { replayed } from "./replayed.ts";
import { fewSignatures, isOverloaded, signatureFields } from "./signatureLimits.ts";

type Signers = { overloaded: boolean; asks: DnsQuestion[] };

/**
 * Finds what is needed to check a mail's signatures: the keys to query DNS for, at most five of each kind of signature. `overloaded`: no
 * honest mail needs such a header, and its signatures are not checked. Takes the header, or the whole mail.
 */
export function signersOf(raw: Buffer): Signers {
  const header = raw.subarray(0, startOfBody(raw));
  if (isOverloaded(header)) return { overloaded: true, asks: [] };
  const fields = readHeaderFields(fewSignatures(header), new Set(signatureFields));
  const names = signatureFields.flatMap((field) => fields.all(field)).map(keyName);
  return {
    overloaded: false,
    asks: [...new Set(names)].filter((name) => name !== undefined).map((name) => `TXT ${name}`),
  };
}

/** Like `signersOf`, for a whole mail. Adds the findings at once if no DNS query is needed, as for unsigned mail. */
export async function signersOrFindings(
  raw: Buffer,
): Promise<Signers & { read?: ResultOrQuestions<Omit<Findings, "spf">> }> {
  const signers = signersOf(raw);
  if (signers.overloaded || signers.asks.length > 0) return signers;
  return { ...signers, read: await verifySignatures(raw, new Map()) };
}

/**
 * Returns the DNS name of a signature's key. A signature that the library reads differently costs another round of questions, nothing
 * else.
 */
function keyName(signature: string): string | undefined {
  const tags = signature.replace(/\s+/g, "").split(";");
  const tagged = (tag: string) => tags.find((each) => each.startsWith(`${tag}=`))?.slice(tag.length + 1);
  const [selector, domain] = [tagged("s"), tagged("d")];
  return selector && domain ? `${selector}._domainkey.${domain}` : undefined;
}

/** Checks every DKIM signature and the ARC chain of a mail, by its original bytes. Costs time in proportion to the size of the mail. */
export async function verifySignatures(
  raw: Buffer,
  answers: DnsAnswers,
): Promise<ResultOrQuestions<Omit<Findings, "spf">>> {
  return replayed(answers, async (resolver) => {
    // Without a sender the library would read the Return-Path, however long it is.
    const dkim = (await dkimVerify(fewSignatures(raw), { sender: "nobody@localhost", resolver })) as any;
    const chain = await arc(dkim.arc, { resolver });
    const signatures = dkim.results.filter((signature: any) => signature.signingDomain);
    return {
      signatures: signatures.map((signature: any) => ({
        result: dkimResult(signature),
        domain: signature.signingDomain.toLowerCase(),
        signed: countsOf((name) => signedFields(signature).filter((signed) => signed === name).length),
      })),
      occurring: occurrencesIn(raw, dkim.headers?.parsed ?? []),
      arc: arcResult(chain.status?.result),
      from: dkim.headerFrom,
    };
  });
}

const arcResult = (result: unknown): ArcResult => (result === "pass" || result === "fail" ? result : "none");

/**
 * Corrects the library's result: it passes signatures that prove nothing, because they cover the body in part, leave From unsigned, or use
 * SHA-1.
 */
function dkimResult({ status, signingHeaders, algo }: any): DkimResult {
  if (status.result === "fail" || status.comment === "body hash did not verify") return "fail";
  if (status.result === "temperror") return "temperror";
  if (status.result !== "pass") return "neutral";
  if (!signedFields({ signingHeaders }).includes("from")) return "permerror";
  return status.underSized || /sha1$/i.test(algo) ? "neutral" : "pass";
}

/** Returns the names of the signed fields: of the fields in `h=`, the library keeps one for each occurrence in the mail. */
const signedFields = ({ signingHeaders }: any): string[] => signingHeaders.keys.toLowerCase().split(/:\s*/);

/**
 * Counts occurrences by this service's own reading and by the library's: each recognises fields that the other misses (a name folded
 * before its colon), and a field that only one of them sees must not pass for signed.
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
