import type { Logger } from "pino";
import { type AnnounceDependencies, announceHeads } from "#src/commands/audit/announceHeads.ts";
import type { WitnessHandlers } from "#src/commands/audit/cosignHead.ts";
import { checkCopies, type GrownTreesDependencies, signGrownTrees } from "#src/commands/audit/signGrownTrees.ts";
import type { HeadDependencies } from "#src/commands/audit/signHead.ts";

/** Signs heads of the audit trees and announces them, once an hour for each tree that has grown. Several instances may do so at once. */
export type HeadClock = { close(): Promise<void> };

/** Starts the clock. It checks once a minute; a failure is logged and tried again. */
export function startHeadClock(
  deps: AnnounceDependencies & GrownTreesDependencies,
  { log, everyMs = 60_000 }: { log: Pick<Logger, "error" | "warn">; everyMs?: number },
): HeadClock {
  const stopping = new AbortController();
  let areCopiesChecked = false;
  let running = Promise.resolve();

  const unsigned = (error: unknown, tree_id: string) =>
    log.error({ err: error, tree_id }, "the head of an audit tree was not signed");
  const unannounced = (error: unknown, tree_id: string) =>
    log.error({ err: error, tree_id }, "the head of an audit tree was not announced");
  const onRefusal: WitnessHandlers["onRefusal"] = (reason, { witness, treeId }) =>
    log.warn({ reason, witness, tree_id: treeId }, "a witness did not cosign the head of an audit tree");

  async function checkAllCopies(): Promise<void> {
    try {
      areCopiesChecked = await checkCopies(deps, { onError: unsigned, stopping: stopping.signal });
    } catch (error) {
      unsigned(error, "all");
    }
  }

  async function signAndAnnounce(): Promise<void> {
    const { signal } = stopping;
    if (!areCopiesChecked) await checkAllCopies();
    await signGrownTrees(deps, { onError: unsigned, stopping: signal }).catch((error) => unsigned(error, "all"));
    const handlers = { onError: unannounced, onRefusal, stopping: signal };
    await announceHeads(deps, handlers).catch((error) => unannounced(error, "all"));
  }
  const timer = setInterval(() => {
    running = running.then(signAndAnnounce);
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
