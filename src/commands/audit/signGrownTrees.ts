import { treeIds, unsignedTrees } from "#projections/auditTree/queries.ts";
import type { Dependencies } from "../dependencies.ts";
import { checkCopy, type HeadDependencies, signHead } from "./signHead.ts";

/** Milliseconds after which a tree that has grown gets another head. */
const hourMs = 3_600_000;

export type GrownTreesDependencies = HeadDependencies & Pick<Dependencies, "store">;

type Handlers = { onError: (error: unknown, treeId: string) => void; stopping: AbortSignal };

/**
 * Signs a head of every tree that has grown and has had none for an hour, and finds trees that are shorter than their heads. `onError`
 * gets a tree whose head could not be signed; the others are signed all the same. Returns the number of trees signed.
 */
export async function signGrownTrees(deps: GrownTreesDependencies, handlers: Handlers): Promise<number> {
  const { reads, clock } = deps;
  if (!(await haveReadLog(deps))) return 0;
  const trees = await unsignedTrees(reads, new Date(clock.now().getTime() - hourMs));
  return forEach(trees, (treeId) => signHead(deps, treeId), handlers);
}

/**
 * Finds trees that do not continue the copies of their heads: the database was restored. To be done once after a start, because a tree that
 * does not grow is not signed. Returns false if the trees have not read the log yet, so that it has to be done again.
 */
export async function checkCopies(deps: GrownTreesDependencies, handlers: Handlers): Promise<boolean> {
  if (!(await haveReadLog(deps))) return false;
  await forEach(await treeIds(deps.reads), (treeId) => checkCopy(deps, treeId), handlers);
  return true;
}

/** True if the audit trees have processed the whole log. A tree that is being rebuilt is shorter until then. */
export const haveReadLog = async ({ store, projected }: GrownTreesDependencies): Promise<boolean> =>
  projected(await store.head(), { of: ["auditTree"] });

/** Returns the number of trees for which the work succeeded. */
async function forEach(
  trees: readonly string[],
  work: (treeId: string) => Promise<unknown>,
  { onError, stopping }: Handlers,
): Promise<number> {
  let done = 0;
  for (const treeId of trees) {
    if (stopping.aborted) break;
    try {
      await work(treeId);
      done += 1;
    } catch (error) {
      onError(error, treeId);
    }
  }
  return done;
}
