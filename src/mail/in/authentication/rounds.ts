import type { Lookup, Resolver } from "#src/platform/dns/resolver.ts";
import type { DnsAnswer, DnsQuestion, ResultOrQuestions } from "./findings.ts";

/** Maximum number of rounds of DNS look-ups. SPF needs its queries one after the other; no honest record needs this many. */
const maxRounds = 40;

/** Repeats the work, each time with the DNS answers it lacked, until it has a result. */
export async function rounds<T>(
  attempt: () => Promise<ResultOrQuestions<T> | undefined>,
  ask: (questions: DnsQuestion[]) => Promise<void>,
): Promise<T | undefined> {
  for (let round = 0; round < maxRounds; round += 1) {
    const result = await attempt();
    if (!result || "found" in result) return result?.found;
    await ask(result.asks);
  }
  return undefined;
}

/** Caches the DNS answers for one mail: each question is asked once. */
export function answersFrom(resolver: Resolver) {
  const answers = new Map<DnsQuestion, DnsAnswer>();
  return {
    answers,
    async ask(questions: DnsQuestion[]): Promise<void> {
      const unknown = questions.filter((question) => !answers.has(question));
      await Promise.all(unknown.map(async (question) => answers.set(question, await answerTo(question, resolver))));
    },
  };
}

async function answerTo(question: DnsQuestion, resolver: Resolver): Promise<DnsAnswer> {
  const at = question.indexOf(" ");
  const found = await lookUpAs(resolver, question.slice(at + 1), question.slice(0, at));
  if (found.outcome === "found") return { records: found.records };
  return { code: found.outcome === "missing" ? "ENOTFOUND" : "ETIMEOUT" };
}

/** Looks up a record type in the form of node:dns `resolve`. */
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
