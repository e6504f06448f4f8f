import { auditTreeOf, nodesOf } from "#projections/auditTree/queries.ts";
import { epochOf, type LogCheckpoint, originOf, readCheckpoint, writeCheckpoint } from "#src/audit/checkpoint.ts";
import { isConsistent, proveConsistency, rootOf, type TreeHead } from "#src/audit/merkle.ts";
import { type NoteSigner, noteSigner, signNote } from "#src/audit/signedNote.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import { Rejected } from "#streams/decider.ts";
import type { Dependencies } from "../dependencies.ts";

export type HeadDependencies = Pick<
  Dependencies,
  "reads" | "auditEpochs" | "auditHeads" | "keyRing" | "settings" | "clock" | "projected"
>;

/** Thrown if a tree does not extend a signed head: events were changed, or the database was restored from a backup. Nothing is signed. */
export class HeadContradicted extends Rejected {
  constructor(treeId: string, head: string) {
    super(
      "unavailable",
      `The audit tree ${treeId} does not continue the signed head ${head}: events before it were changed, or the database was restored. ` +
        `Nothing is signed until the operator runs: npm run audit -- new-epoch --tree ${treeId} --reason TEXT`,
    );
  }
}

/** Thrown if a tree has no entry yet, so that there is nothing to sign. */
export class EmptyTree extends Rejected {
  constructor() {
    super("not_found", "There is no event yet whose history could be proved.");
  }
}

/** Returns the name of a tree's log in its present epoch. */
export async function originNow(
  deps: Pick<Dependencies, "auditEpochs"> & { settings: Pick<Dependencies["settings"], "publicUrl"> },
  treeId: string,
): Promise<{ origin: string; epoch: number }> {
  const { epoch } = (await deps.auditEpochs.load(treeId)).state;
  return { origin: originOf(new URL(deps.settings.publicUrl).host, { treeId, epoch }), epoch };
}

/** Makes the signer of a log: one Ed25519 key for all logs, derived from the first key of the key ring. */
export const signerOf = ({ keyRing }: Pick<Dependencies, "keyRing">, origin: string): NoteSigner =>
  noteSigner(origin, keyRing.deriveKey("audit-signing"));

/** Attempts to record a head before another instance's newer head is returned. */
const maxAttempts = 5;

/**
 * Returns a signed head of a tree whose entries include the event at `upTo` (a position in the log; default: all that the read model has).
 * Signs a new head only if the newest one is older. Throws HeadContradicted or EmptyTree.
 */
export async function signHead(deps: HeadDependencies, treeId: string, upTo?: number): Promise<SignedHead> {
  for (let attempt = 1; ; attempt += 1) {
    const last = await deps.auditHeads.newest(treeId);
    const { origin, epoch } = await originNow(deps, treeId);
    if (last?.contradictedAt && last.epoch === epoch) throw new HeadContradicted(treeId, `of ${last.size} entries`);
    if (last?.epoch === epoch && upTo !== undefined && last.position >= upTo) return last;
    // The copy is read before the tree: a copy that another instance writes meanwhile may be of a larger tree than the one read here.
    const copy = await deps.auditHeads.copies.read(treeId);
    const tree = await auditTreeOf(deps.reads, treeId);
    if (!tree) throw new EmptyTree();
    if (last?.epoch === epoch && last.size === tree.size) return last;
    const { size, position } = tree;
    const root = await rootOf(nodesOf(deps.reads, treeId), size);
    await requireContinued(deps, { treeId, origin, epoch }, { head: { size, root }, last, copy });
    const signer = signerOf(deps, origin);
    const checkpoint = signNote(writeCheckpoint({ origin, size, root }), signer);
    const head = { treeId, epoch, size, root, position, checkpoint, signedAt: deps.clock.now() };
    if (await deps.auditHeads.record({ ...head, verifierKey: signer.verifierKey }, last)) {
      await deps.auditHeads.copies.write(treeId, checkpoint);
      return { ...head, contradictedAt: null };
    }
    if (attempt === maxAttempts) throw new Error(`the head of ${treeId} was moved by other instances ${attempt} times`);
  }
}

/**
 * Checks a tree against the copy of its newest head outside the database, if that one is newer than the recorded head: the database was
 * restored. Throws HeadContradicted if the tree does not continue the copy. The read model must have read the whole log.
 */
export async function checkCopy(deps: HeadDependencies, treeId: string): Promise<void> {
  const copy = await deps.auditHeads.copies.read(treeId);
  const copied = headIn(copy);
  const last = await deps.auditHeads.newest(treeId);
  const { origin, epoch } = await originNow(deps, treeId);
  if (!copied || copied.epoch < epoch) return;
  if (last?.epoch === copied.epoch && last.size >= copied.size) return;
  const { size } = (await auditTreeOf(deps.reads, treeId)) ?? { size: 0 };
  const root = await rootOf(nodesOf(deps.reads, treeId), size);
  await requireContinued(deps, { treeId, origin, epoch }, { head: { size, root }, last, copy });
}

/** Returns the newest head outside the database, and its epoch. */
export async function copiedHead(
  { auditHeads }: Pick<Dependencies, "auditHeads">,
  treeId: string,
): Promise<(LogCheckpoint & { epoch: number }) | undefined> {
  return headIn(await auditHeads.copies.read(treeId));
}

function headIn(copy: string | undefined): (LogCheckpoint & { epoch: number }) | undefined {
  const copied = readCheckpoint(copy ?? "");
  return copied && { ...copied, epoch: epochOf(copied.origin) };
}

type Log = { treeId: string; origin: string; epoch: number };

/** Throws HeadContradicted if the newest recorded head, or its copy outside the database, is not the beginning of this tree. */
async function requireContinued(
  deps: HeadDependencies,
  log: Log,
  { head, last, copy }: { head: TreeHead; last: SignedHead | undefined; copy: string | undefined },
): Promise<void> {
  const copied = headIn(copy);
  const signed = [
    last?.epoch === log.epoch ? last : undefined,
    copied && copied.epoch >= log.epoch ? copied : undefined,
  ];
  for (const older of signed.filter((each) => each !== undefined)) {
    const isSameEpoch = !("origin" in older) || older.origin === log.origin;
    if (isSameEpoch && (await isBeginningOf(deps, log.treeId, { older, newer: head }))) continue;
    await deps.auditHeads.contradict({
      ...log,
      size: older.size,
      root: older.root,
      checkpoint: copy ?? "",
      at: deps.clock.now(),
    });
    throw new HeadContradicted(log.treeId, `of ${older.size} entries`);
  }
}

async function isBeginningOf(
  { reads }: Pick<Dependencies, "reads">,
  treeId: string,
  { older, newer }: { older: TreeHead; newer: TreeHead },
): Promise<boolean> {
  if (older.size > newer.size) return false;
  const proof = await proveConsistency(nodesOf(reads, treeId), { from: older.size, to: newer.size });
  return isConsistent(older, newer, proof);
}
