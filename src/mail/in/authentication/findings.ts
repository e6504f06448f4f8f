import type { RemoteClient } from "#src/mail/in/reception.ts";

/** Results of the DNS look-ups and signature checks of one mail, before anything is concluded from them. */

export type SpfResult = "pass" | "fail" | "softfail" | "neutral" | "none" | "temperror" | "permerror";
export type DkimResult = "pass" | "fail" | "neutral" | "temperror" | "permerror";
export type ArcResult = "pass" | "fail" | "none";

/** Address fields that a signature may cover besides From, as the header names them. */
export const addressFields = ["to", "cc", "reply-to"] as const;
/** Number of occurrences of each of these fields. */
export type FieldCounts = Record<(typeof addressFields)[number], number>;

export type Findings = {
  /** `domain`: that of the envelope sender, or of the greeting if the envelope sender is empty. `reason`: the cause of a permerror. */
  spf: { result: SpfResult; domain: string; reason?: string };
  /** One entry per signature. `pass` only if the signature covers the whole body and the From field. */
  signatures: {
    result: DkimResult;
    domain: string;
    /** Number of occurrences of each field that the signature covers. */
    signed: FieldCounts;
  }[];
  /** Number of occurrences of each field in the mail; the higher count where two readings differ. */
  occurring: FieldCounts;
  /** Recorded only: an ARC chain proves something only to readers who trust its sealers, and this service trusts none. */
  arc: ArcResult;
  /** Every address in a From field, as the verifying library reads it. */
  from: string[];
};

/** SMTP facts about the sender, from outside the mail itself. */
export type SmtpSender = {
  /** Envelope sender; "" for the null sender. */
  envelopeFrom: string;
  remote: RemoteClient;
};

export type ReceivedMail = SmtpSender & {
  /**
   * Loads the mail's original bytes, calls `work` with them, and frees them afterwards. May be called several times, but never during DNS
   * look-ups, because these can take long and a large mail would stay in memory meanwhile. Returns undefined if the bytes do not exist.
   */
  withRaw<T>(work: (raw: Buffer) => Promise<T>): Promise<T | undefined>;
  /** The identity that the mail is for. The thread pool serves identities in turns. */
  turn: string;
};

/** A DNS answer: records as node:dns returns them, or its error code. */
export type DnsAnswer = { records: unknown } | { code: string };

/** A question to DNS, "TXT example.com". */
export type DnsQuestion = string;

/** DNS answers received so far. */
export type DnsAnswers = ReadonlyMap<DnsQuestion, DnsAnswer>;

/** A result, or the DNS questions that have to be answered first. */
export type ResultOrQuestions<T> = { found: T } | { asks: DnsQuestion[] };
