import { unsignedTrees } from "#projections/auditTree/queries.ts";
import { type HeadDependencies, signHead } from "./signHead.ts";

/** Milliseconds after which a tree that has grown gets another head. */
const hourMs = 3_600_000;

/**
 * Signs a head of every tree that has grown and has had none for an hour. `onError` gets a tree whose head could not be signed; the others
 * are signed all the same. Returns the number of trees signed.
 */
export async function signGrownTrees(
  deps: HeadDependencies,
  { onError, stopping }: { onError: (error: unknown, treeId: string) => void; stopping: AbortSignal },
): Promise<number> {
  let signed = 0;
  for (const treeId of await unsignedTrees(deps.reads, new Date(deps.clock.now().getTime() - hourMs))) {
    if (stopping.aborted) break;
    try {
      await signHead(deps, treeId);
      signed += 1;
    } catch (error) {
      onError(error, treeId);
    }
  }
  return signed;
}
