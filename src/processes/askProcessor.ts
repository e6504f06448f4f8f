import type { Dependencies } from "#src/commands/dependencies.ts";
import { ProcessorRefused, ProcessorUnavailable } from "#src/platform/payments/paymentProcessor.ts";
import type { ProcessContext, RetryLater } from "./process.ts";

/** Seconds before each further try; the last value repeats for ever. */
const untilAvailable = [2, 5, 10, 20, 40, 60];
/** Seconds before each further try after a refusal, which repeats until a person corrects its cause; the last value repeats for ever. */
const untilMended = [10, 60, 300, 600];

/**
 * Runs work that needs the payment processor. If the processor is unreachable or refuses, logs that and tries again after a growing pause.
 * The item is never parked.
 */
export async function askProcessor(
  deps: Pick<Dependencies, "log">,
  { cause, attempt }: Pick<ProcessContext, "cause" | "attempt">,
  work: () => Promise<void>,
): Promise<RetryLater | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const { workspaceId, actor } = cause;
    if (error instanceof ProcessorUnavailable) {
      const again = pauseOf(untilAvailable, attempt);
      const about = { workspaceId, process: actor.id, because: error.message, tries: attempt, ...again };
      deps.log?.warn?.(about, "the payment processor cannot be reached, retrying");
      return again;
    }
    if (!(error instanceof ProcessorRefused)) throw error;
    const again = pauseOf(untilMended, attempt);
    const about = { workspaceId, process: actor.id, because: error.message, tries: attempt, ...again };
    deps.log?.error(about, "the payment processor refused, retrying");
    return again;
  }
}

const pauseOf = (seconds: readonly number[], attempt: number): RetryLater => ({
  againInMs: 1_000 * (seconds[Math.min(attempt, seconds.length) - 1] as number),
});
