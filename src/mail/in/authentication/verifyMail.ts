// By its parts: all of it, with the checks of logos and certificates that nobody asks for here, takes twice the memory in each thread.
import { arc } from "mailauth/lib/arc/index.js";
import { dkimVerify } from "mailauth/lib/dkim/verify.js";
import { spf } from "mailauth/lib/spf/index.js";
import { readHeaderFields, startOfBody } from "#src/mail/in/headerFields.ts";
import {
  type Answers,
  type ArcResult,
  addressFields,
  type DkimResult,
  type FieldCounts,
  type Findings,
  type Found,
  type Question,
  type Sender,
  type SpfResult,
} from "./findings.ts";
import { fewSignatures, isOverloaded, signatureFields } from "./signatureLimits.ts";

type Signers = { overloaded: boolean; asks: Question[] };

/**
 * What of a mail has to be known before its signatures can be checked: which keys DNS is to be asked for, at most five of each kind of
 * signature. `overloaded`: no mail needs such a header, and its signatures are not looked at. Takes the header, or all of the mail.
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

/** The same of a whole mail, and what its signatures say at once where that asks nobody: of mail that is not signed. */
export async function signersOrFindings(raw: Buffer): Promise<Signers & { read?: Found<Omit<Findings, "spf">> }> {
  const signers = signersOf(raw);
  if (signers.overloaded || signers.asks.length > 0) return signers;
  return { ...signers, read: await verifySignatures(raw, new Map()) };
}

/** Where a signature's key is. A signature that the library reads otherwise costs another round of questions, no more. */
function keyName(signature: string): string | undefined {
  const tags = signature.replace(/\s+/g, "").split(";");
  const tagged = (tag: string) => tags.find((each) => each.startsWith(`${tag}=`))?.slice(tag.length + 1);
  const [selector, domain] = [tagged("s"), tagged("d")];
  return selector && domain ? `${selector}._domainkey.${domain}` : undefined;
}

/** SPF, of mail that no relay of ours brought: of such a one nothing follows from the address. */
export async function verifySender(
  { envelopeFrom, remote }: Sender,
  answers: Answers,
): Promise<Found<Findings["spf"]>> {
  return replayed(answers, async (resolver) => {
    const helo = remote.helo || remote.ip;
    const sender = await spf({ sender: envelopeFrom, ip: remote.ip, helo, mta: "localhost", resolver });
    return { result: spfResult(sender.status.result), domain: sender.domain || "" };
  });
}

/** Every DKIM signature and the ARC chain of a mail, by its bytes as they came. As dear as the mail is large. */
export async function verifySignatures(raw: Buffer, answers: Answers): Promise<Found<Omit<Findings, "spf">>> {
  return replayed(answers, async (resolver) => {
    // Without a sender it would read the Return-Path, however long that is.
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

/** A look-up in the shape of node:dns, which the library expects; failures have its codes. */
type LookUp = (name: string, type: string) => Promise<any>;

/** Does the work with what is known. What it asks beside that makes it worthless: it is done again when the answers are there. */
async function replayed<T>(answers: Answers, work: (resolver: LookUp) => Promise<T>): Promise<Found<T>> {
  const asks = new Set<Question>();
  const found = await work(async (name, type) => {
    const known = answers.get(`${type} ${name}`);
    if (!known) asks.add(`${type} ${name}`);
    if (known && "records" in known) return known.records;
    const code = known ? known.code : "ETIMEOUT";
    throw Object.assign(new Error(code), { code });
  });
  return asks.size > 0 ? { asks: [...asks] } : { found };
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
