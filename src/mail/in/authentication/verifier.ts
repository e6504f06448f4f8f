import { startOfBody } from "#src/mail/in/headerFields.ts";
import type { Lookup, Resolver } from "#src/platform/dns/resolver.ts";
import type { Job, ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import type { Answer, Findings, Found, Question, ReceivedMail, Sender } from "./findings.ts";

export type MailVerifier = {
  /**
   * Undefined if it could not be found out, whatever the mail does to the verifier. `resolver` has to have an end: each look-up answers in
   * time. Never rejects because of the mail.
   */
  verify(mail: ReceivedMail, resolver: Resolver): Promise<Findings | undefined>;
};

/** SPF asks one thing after the other; no honest record needs so many rounds. */
const maxRounds = 40;

/** Such a mail proves nothing, and never will. */
const overloaded: Findings = {
  spf: { result: "permerror", domain: "" },
  signatures: [{ result: "permerror", domain: "", signed: { to: 0, cc: 0, "reply-to": 0 } }],
  occurring: { to: 0, cc: 0, "reply-to": 0 },
  arc: "none",
  from: [],
};

const unknownSender: Findings["spf"] = { result: "none", domain: "" };

type OfSignatures = Found<Omit<Findings, "spf">>;
type Signers = { overloaded: boolean; asks: Question[]; read?: OfSignatures };

/** A mail up to this size is copied for a thread in no time: that reads all of it where its header asks for no more. */
const smallBytes = 64 * 1024;

/**
 * Does the sums in the threads of a pool, and the look-ups here, in rounds: a thread says what it has to know, and is free while DNS is asked.
 */
export function createMailVerifier(pool: Pick<ThreadPool, "run">): MailVerifier {
  return {
    async verify(mail, resolver) {
      const dns = answersFrom(resolver);
      const run = <T>(job: Job) => pool.run<T>(job, { turn: mail.turn });
      const signaturesOf = (raw: Buffer) => run<OfSignatures>({ name: "signatures", answers: dns.answers, bytes: raw });
      const signers = await mail.withRaw(async (raw) => {
        const isWhole = raw.length <= smallBytes;
        const bytes = isWhole ? raw : raw.subarray(0, startOfBody(raw));
        const told = await run<Signers>({ name: "signers", isWhole, bytes });
        // If nobody is to be asked, as of mail that is not signed, its bytes are fetched once.
        const isAsked = told.overloaded || told.asks.length > 0;
        return { ...told, read: told.read ?? (isAsked ? undefined : await signaturesOf(raw)) };
      });
      if (!signers) return undefined;
      if (signers.overloaded) return overloaded;

      const { envelopeFrom, remote } = mail;
      const sender = { envelopeFrom, remote };
      const spf = () => run<Found<Findings["spf"]>>({ name: "sender", sender, answers: dns.answers, bytes: nothing });
      const signatures = () => mail.withRaw(signaturesOf);
      const { read } = signers;
      const [found, rest] = await Promise.all([
        // A relay of ours says nothing about who sent it.
        remote.relay ? unknownSender : dns.ask(firstOfSpf(sender)).then(() => rounds(spf, dns.ask)),
        read && "found" in read ? read.found : dns.ask(signers.asks).then(() => rounds(signatures, dns.ask)),
      ]);
      return found && rest ? { ...rest, spf: found } : undefined;
    },
  };
}

const nothing = Buffer.alloc(0);

/** What SPF asks of every sender first: a thread need not be asked what that is. Of what is no domain it asks nothing. */
function firstOfSpf({ envelopeFrom, remote }: Sender): Question[] {
  const name = (
    envelopeFrom === "" ? remote.helo : envelopeFrom.slice(envelopeFrom.lastIndexOf("@") + 1)
  ).toLowerCase();
  return isDomain.test(name) && name.length <= longestName ? [`TXT ${name}`] : [];
}

const isDomain = /^([a-z0-9_-]+\.)+[a-z][a-z0-9-]*$/;
/** Characters of a name in DNS. */
const longestName = 253;

/** Tries with what is known, and asks for what is missing, until something is found. */
async function rounds<T>(
  attempt: () => Promise<Found<T> | undefined>,
  ask: (questions: Question[]) => Promise<void>,
): Promise<T | undefined> {
  for (let round = 0; round < maxRounds; round += 1) {
    const result = await attempt();
    if (!result || "found" in result) return result?.found;
    await ask(result.asks);
  }
  return undefined;
}

/** What DNS has said about one mail: each thing is asked once. */
function answersFrom(resolver: Resolver) {
  const answers = new Map<Question, Answer>();
  return {
    answers,
    async ask(questions: Question[]): Promise<void> {
      const unknown = questions.filter((question) => !answers.has(question));
      await Promise.all(unknown.map(async (question) => answers.set(question, await answerTo(question, resolver))));
    },
  };
}

async function answerTo(question: Question, resolver: Resolver): Promise<Answer> {
  const at = question.indexOf(" ");
  const found = await lookUpAs(resolver, question.slice(at + 1), question.slice(0, at));
  if (found.outcome === "found") return { records: found.records };
  return { code: found.outcome === "missing" ? "ENOTFOUND" : "ETIMEOUT" };
}

/** As node:dns resolve answers that type. */
async function lookUpAs(resolver: Resolver, name: string, type: string): Promise<Lookup<unknown>> {
  switch (type) {
    case "TXT": {
      const found = await resolver.txt(name);
      return found.outcome === "found" ? { ...found, records: found.records.map((text) => [text]) } : found;
    }
    case "A":
      return resolver.a(name);
    case "AAAA":
      return resolver.aaaa(name);
    case "MX":
      return resolver.mx(name);
    case "PTR":
      return resolver.ptr(name);
    default:
      return { outcome: "missing" };
  }
}
