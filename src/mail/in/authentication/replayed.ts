import type { DnsAnswers, DnsQuestion, ResultOrQuestions } from "./findings.ts";

/** A look-up function in the form of node:dns, which the library expects; its failures have the codes of node:dns. */
export type DnsLookUp = (name: string, type: string) => Promise<any>;

/**
 * Runs the work with the answers known so far. If the work needs further answers, its result is discarded, and it runs again once they are
 * known.
 */
export async function replayed<T>(
  answers: DnsAnswers,
  work: (resolver: DnsLookUp) => Promise<T>,
): Promise<ResultOrQuestions<T>> {
  const asks = new Set<DnsQuestion>();
  const found = await work(async (name, type) => {
    const known = answers.get(`${type} ${name}`);
    if (!known) asks.add(`${type} ${name}`);
    if (known && "records" in known) return known.records;
    const code = known ? known.code : "ETIMEOUT";
    throw Object.assign(new Error(code), { code });
  });
  return asks.size > 0 ? { asks: [...asks] } : { found };
}
