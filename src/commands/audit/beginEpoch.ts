import { readCheckpoint } from "#src/audit/checkpoint.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import type { Cause } from "../handle.ts";
import { type HeadDependencies, originNow, signHead } from "./signHead.ts";

/**
 * Begins a new epoch of an audit tree, and signs its first head. The event that begins it names the newest head of the epoch before, so
 * that an auditor who has that head sees where the history was put back, and why.
 */
export async function beginEpoch(
  deps: HeadDependencies,
  { treeId, reason }: { treeId: string; reason: string },
  cause: Cause,
): Promise<SignedHead> {
  const { origin } = await originNow(deps, treeId);
  const newest = await deps.auditHeads.newest(treeId);
  const copy = readCheckpoint((await deps.auditHeads.copies.read(treeId)) ?? "");
  const known = [newest && { origin, size: newest.size, root: newest.root }, copy].filter((head) => head !== undefined);
  const [last] = known.toSorted((a, b) => b.size - a.size);
  const { position } = await deps.auditEpochs.handle(
    treeId,
    {
      type: "BeginEpoch",
      reason,
      last: { origin: last?.origin ?? origin, size: last?.size ?? 0, root: last?.root.toString("base64") ?? "" },
    },
    cause,
  );
  if (!(await deps.projected(position, { of: ["auditTree"] })))
    throw new Error("the epoch has begun, but its entry is not in the tree yet: the next head will be signed as usual");
  return signHead(deps, treeId, position);
}
