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

/** What was said around a mail. */
export type Sender = {
  /** "" for the null sender. */
  envelopeFrom: string;
  remote: Remote;
};

export type ReceivedMail = Sender & {
  /**
   * Does something with the mail as it came, and holds its bytes no longer. Called several times, never while DNS is asked: that may take
   * long, and the bytes be many. Undefined if there are none.
   */
  withRaw<T>(work: (raw: Buffer) => Promise<T>): Promise<T | undefined>;
  /** Whose mail it is: identities take turns. */
  turn: string;
};

/** What DNS answers to a question: as node:dns does, or its code of a failure. */
export type Answer = { records: unknown } | { code: string };

/** A question to DNS, "TXT example.com". */
export type Question = string;

/** What DNS is known to say. */
export type Answers = ReadonlyMap<Question, Answer>;

/** Something found out, or the questions that have to be answered first. */
export type Found<T> = { found: T } | { asks: Question[] };
