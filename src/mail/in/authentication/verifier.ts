import { startOfBody } from "#src/mail/in/headerFields.ts";
import type { Resolver } from "#src/platform/dns/resolver.ts";
import type { PoolJob, ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import type { DnsQuestion, Findings, ReceivedMail, ResultOrQuestions, SmtpSender } from "./findings.ts";
import { answersFrom, rounds } from "./rounds.ts";

export type MailVerifier = {
  /**
   * Checks the mail. Returns undefined if the checks could not be completed. Each look-up of `resolver` must end in bounded time. Never
   * rejects because of the mail's content.
   */
  verify(mail: ReceivedMail, resolver: Resolver): Promise<Findings | undefined>;
};

/** Findings for an overloaded header. Such a mail never proves anything. */
const overloaded: Findings = {
  spf: { result: "permerror", domain: "" },
  signatures: [{ result: "permerror", domain: "", signed: { to: 0, cc: 0, "reply-to": 0 } }],
  occurring: { to: 0, cc: 0, "reply-to": 0 },
  arc: "none",
  from: [],
};

const unknownSender: Findings["spf"] = { result: "none", domain: "" };

type OfSignatures = ResultOrQuestions<Omit<Findings, "spf">>;
type Signers = { overloaded: boolean; asks: DnsQuestion[]; read?: OfSignatures };

/**
 * Mails up to this size are copied to a thread whole, which costs nearly nothing; of a larger mail only the header is copied, unless its
 * signatures need the body.
 */
const smallBytes = 64 * 1024;

/**
 * Computes in the threads of a pool and makes look-ups on the main thread, in rounds: a thread returns the questions it needs answered,
 * and is free while DNS is queried.
 */
export function createMailVerifier(pool: Pick<ThreadPool, "run">): MailVerifier {
  return {
    async verify(mail, resolver) {
      const dns = answersFrom(resolver);
      const run = <T>(job: PoolJob) => pool.run<T>(job, { turn: mail.turn });
      const signaturesOf = (raw: Buffer) => run<OfSignatures>({ name: "signatures", answers: dns.answers, bytes: raw });
      const signers = await mail.withRaw(async (raw) => {
        const isWhole = raw.length <= smallBytes;
        const bytes = isWhole ? raw : raw.subarray(0, startOfBody(raw));
        const told = await run<Signers>({ name: "signers", isWhole, bytes });
        // If there are no questions, as for unsigned mail, its bytes are fetched once.
        const isAsked = told.overloaded || told.asks.length > 0;
        return { ...told, read: told.read ?? (isAsked ? undefined : await signaturesOf(raw)) };
      });
      if (!signers) return undefined;
      if (signers.overloaded) return overloaded;

      const { envelopeFrom, remote } = mail;
      const sender = { envelopeFrom, remote };
      const spf = () =>
        run<ResultOrQuestions<Findings["spf"]>>({ name: "sender", sender, answers: dns.answers, bytes: nothing });
      const signatures = () => mail.withRaw(signaturesOf);
      const { read } = signers;
      const [found, rest] = await Promise.all([
        // The address of our own relay says nothing about the sender.
        remote.relay ? unknownSender : dns.ask(firstOfSpf(sender)).then(() => rounds(spf, dns.ask)),
        read && "found" in read ? read.found : dns.ask(signers.asks).then(() => rounds(signatures, dns.ask)),
      ]);
      return found && rest ? { ...rest, spf: found } : undefined;
    },
  };
}

const nothing = Buffer.alloc(0);

/** Returns the question that SPF asks about every sender first, so no thread is needed to learn it. Empty if the name is not a domain. */
function firstOfSpf({ envelopeFrom, remote }: SmtpSender): DnsQuestion[] {
  const name = (
    envelopeFrom === "" ? remote.helo : envelopeFrom.slice(envelopeFrom.lastIndexOf("@") + 1)
  ).toLowerCase();
  return isDomain.test(name) && name.length <= longestName ? [`TXT ${name}`] : [];
}

const isDomain = /^([a-z0-9_-]+\.)+[a-z][a-z0-9-]*$/;
/** Maximum number of characters of a DNS name. */
const longestName = 253;
