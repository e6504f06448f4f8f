import { originNow } from "#src/commands/audit/signHead.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import type { PageContext } from "../framework/pageContext.ts";

/** How far signed heads prove the history of a draft. `newer`: number of its events that the newest head does not include. */
export type ProofState =
  | { is: "contradicted" }
  | { is: "unsigned" }
  | { is: "proved"; size: number; signedAt: string; newer: number };

/** Dependencies for the newest signed head, which no route returns with its position in the log. */
export type HeadReader = Pick<ConsoleDependencies, "auditHeads" | "auditEpochs"> & {
  settings: Pick<ConsoleDependencies["settings"], "publicUrl">;
};

/** Reads how far the newest head of the reader's workspace proves events at these positions in the log. Only for readers of histories. */
export async function readProofState(
  deps: HeadReader,
  { principal: { workspaceId } }: Pick<PageContext, "principal">,
  positions: readonly number[],
): Promise<ProofState> {
  const [head, { epoch }] = await Promise.all([deps.auditHeads.newest(workspaceId), originNow(deps, workspaceId)]);
  return proofStateOf(head, epoch, positions);
}

/** A head of an earlier epoch proves nothing about the tree of today. */
export function proofStateOf(
  head: Pick<SignedHead, "epoch" | "size" | "position" | "signedAt" | "contradictedAt"> | undefined,
  epoch: number,
  positions: readonly number[],
): ProofState {
  if (head?.epoch !== epoch) return { is: "unsigned" };
  if (head.contradictedAt) return { is: "contradicted" };
  const newer = positions.filter((position) => position > head.position).length;
  if (newer === positions.length) return { is: "unsigned" };
  return { is: "proved", size: head.size, signedAt: head.signedAt.toISOString(), newer };
}
