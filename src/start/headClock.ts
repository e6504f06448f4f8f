import type { Logger } from "pino";
import { signGrownTrees } from "#src/commands/audit/signGrownTrees.ts";
import type { HeadDependencies } from "#src/commands/audit/signHead.ts";

/** Signs heads of the audit trees, once an hour for each tree that has grown. Several instances may do so at once. */
export type HeadClock = { close(): Promise<void> };

/** Starts the clock. It checks once a minute; a failure is logged and tried again. */
export function startHeadClock(
  deps: HeadDependencies,
  { log, everyMs = 60_000 }: { log: Pick<Logger, "error">; everyMs?: number },
): HeadClock {
  const stopping = new AbortController();
  let running = Promise.resolve();

  async function signAll(): Promise<void> {
    const onError = (error: unknown, tree_id: string) =>
      log.error({ err: error, tree_id }, "the head of an audit tree was not signed");
    await signGrownTrees(deps, { onError, stopping: stopping.signal }).catch((error) => onError(error, "all"));
  }
  const timer = setInterval(() => {
    running = running.then(signAll);
  }, everyMs);
  return {
    async close() {
      clearInterval(timer);
      stopping.abort();
      await running;
    },
  };
}

/** Returns a sentence for /readyz if trees contradict their signed heads; undefined otherwise. */
export async function contradictedTrees({
  auditHeads,
}: Pick<HeadDependencies, "auditHeads">): Promise<string | undefined> {
  const trees = await auditHeads.contradicted();
  if (trees.length === 0) return undefined;
  return `${trees.length} audit trees do not continue their signed heads, so nothing is signed: ${trees.slice(0, 3).join(", ")}; after a restore run npm run audit -- new-epoch`;
}
