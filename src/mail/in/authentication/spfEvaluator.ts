import type { SpfEvaluator } from "#src/platform/dns/spf/evaluator.ts";
import { TaskFault } from "#src/platform/threadPool/faults.ts";
import type { ThreadPool } from "#src/platform/threadPool/threadPool.ts";
import type { Findings, ResultOrQuestions } from "./findings.ts";
import { answersFrom, rounds } from "./rounds.ts";

/** Evaluates SPF for domains that are set up here, by the same code as for received mail. The pool bounds the computation. */
export function createSpfEvaluator(pool: Pick<ThreadPool, "run">): SpfEvaluator {
  return async ({ domain, ip, helo, turn }, resolver) => {
    const { answers, ask } = answersFrom(resolver);
    const sender = { envelopeFrom: `postmaster@${domain}`, remote: { ip, helo } };
    const job = { name: "sender", sender, answers, bytes: Buffer.alloc(0) } as const;
    const attempt = () => pool.run<ResultOrQuestions<Findings["spf"]>>(job, { turn });
    const found = await rounds(attempt, ask).catch(asUnknown);
    return found ?? { result: "temperror" };
  };
}

/** An evaluation that takes too long has no result, for receivers too; other errors are thrown. */
function asUnknown(error: unknown): undefined {
  if (!(error instanceof TaskFault)) throw error;
}
