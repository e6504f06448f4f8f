import { readCheckpoint } from "#src/audit/checkpoint.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import type { Cause } from "../handle.ts";
import { copiedHead, type HeadDependencies, originNow, signHead } from "./signHead.ts";

/**
 * Begins a new epoch of an audit tree, and signs its first head. The event that begins it names the newest head of the epoch before, so
 * that an auditor who has that head sees where the history was restored, and why. Returns undefined if the event is not in the tree yet:
 * then the head is signed as any other.
 */
export async function beginEpoch(
  deps: HeadDependencies,
  { treeId, reason }: { treeId: string; reason: string },
  cause: Cause,
): Promise<SignedHead | undefined> {
  const last = await lastKnownHead(deps, treeId);
  const command = { type: "BeginEpoch", reason, known: last.epoch, last: last.head } as const;
  const { position, state } = await deps.auditEpochs.handle(treeId, command, cause);
  await deps.auditHeads.endEpochsBefore(state.epoch, treeId);
  if (!(await deps.projected(position, { of: ["auditTree"] }))) return undefined;
  return signHead(deps, treeId, position);
}

/** Returns the newest signed head that is recorded or copied. */
async function lastKnownHead(deps: HeadDependencies, treeId: string) {
  const now = await originNow(deps, treeId);
  const recorded = await deps.auditHeads.newest(treeId);
  const named = recorded && { origin: readCheckpoint(recorded.checkpoint)?.origin ?? now.origin };
  const copied = await copiedHead(deps, treeId);
  const known = [recorded && { ...recorded, ...named }, copied].filter((head) => head !== undefined);
  const [last] = known.toSorted((a, b) => b.epoch - a.epoch || b.size - a.size);
  const { origin = now.origin, size = 0, root, epoch = now.epoch } = last ?? {};
  return { epoch, head: { origin: origin ?? now.origin, size, root: root?.toString("base64") ?? "" } };
}
