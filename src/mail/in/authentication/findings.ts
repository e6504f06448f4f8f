import type { Remote } from "#src/mail/in/reception.ts";

/** What was found out about a mail by asking DNS and doing sums, before anybody judges what it proves. */

export type SpfResult = "pass" | "fail" | "softfail" | "neutral" | "none" | "temperror" | "permerror";
export type DkimResult = "pass" | "fail" | "neutral" | "temperror" | "permerror";
export type ArcResult = "pass" | "fail" | "none";

/** Address fields that a signature may cover beside From, as the header names them. */
export const addressFields = ["to", "cc", "reply-to"] as const;
/** How often each of them occurs. */
export type FieldCounts = Record<(typeof addressFields)[number], number>;

export type Findings = {
  /** `domain`: of the envelope's sender, or of the greeting if there is none. */
  spf: { result: SpfResult; domain: string };
  /** One per signature. `pass` only of those that cover all of the body and the From field. */
  signatures: {
    result: DkimResult;
    domain: string;
    /** How many of each field's occurrences it covers. */
    signed: FieldCounts;
  }[];
  /** How often each field occurs in the mail, by whichever reading finds more. */
  occurring: FieldCounts;
  /** Only noted: a chain proves something only to readers who trust its sealers, and this service trusts none. */
  arc: ArcResult;
  /** Every address that is in a From field, as this reader reads it. */
  from: string[];
};

/** A mail as it came: the bytes, and what was said around them. */
export type ReceivedMail = {
  raw: Buffer;
  /** "" for the null sender. */
  envelopeFrom: string;
  remote: Remote;
};
