import { nodesOf } from "#projections/auditTree/queries.ts";
import { cosignatureIn } from "#src/audit/cosignature.ts";
import { proveConsistency } from "#src/audit/merkle.ts";
import { isOf, splitNote } from "#src/audit/signedNote.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import type { Witness } from "#src/platform/audit/witnesses.ts";
import type { HeadDependencies } from "./signHead.ts";

type CosignDependencies = Pick<HeadDependencies, "reads" | "auditHeads">;

export type WitnessHandlers = {
  /** Witnesses that did not answer in this round; they are skipped. `cosignHead` adds to it. */
  away: Set<Witness>;
  /** Called with the reason why a witness has not cosigned a head. */
  onRefusal(reason: string, named: { witness: string; treeId: string }): void;
};

/**
 * Asks witnesses to cosign a head (C2SP tlog-witness), and returns it with the cosignatures that were added to its checkpoint. Never fails
 * because of a witness: one that does not cosign is asked about the next head.
 */
export async function cosignHead(
  deps: CosignDependencies,
  head: SignedHead,
  { witnesses, away, onRefusal }: WitnessHandlers & { witnesses: readonly Witness[] },
): Promise<SignedHead> {
  const asked = witnesses.filter((witness) => !away.has(witness) && !isCosigned(head.checkpoint, witness));
  const answers = asked.map(async (witness) => {
    const { name } = witness.cosigner;
    const line = await cosignatureOf(deps, head, witness).catch((error: unknown) => {
      if (error instanceof NoAnswer) away.add(witness);
      onRefusal((error as Error).message, { witness: name, treeId: head.treeId });
    });
    return line === undefined ? [] : [{ name, line }];
  });
  const signatures = (await Promise.all(answers)).flat();
  return signatures.length === 0 ? head : { ...head, checkpoint: await deps.auditHeads.cosign(head, signatures) };
}

/** Thrown if a witness cannot be asked at all. */
class NoAnswer extends Error {}

const isCosigned = (checkpoint: string, { cosigner }: Witness): boolean =>
  splitNote(checkpoint)?.signatures.some(isOf(cosigner)) === true;

/** Returns the line of a witness's cosignature. Throws the reason if it gives none. */
async function cosignatureOf(deps: CosignDependencies, head: SignedHead, witness: Witness): Promise<string> {
  const known = await lastCosigned(deps, head, witness);
  const first = await ask(deps, { head, witness, oldSize: known });
  const answer = first.status === 409 ? await askAgain(deps, { head, witness, seen: first.text }) : first;
  if (answer.status !== 200) throw new Error(`it answered ${answer.status}`);
  const text = splitNote(head.checkpoint)?.text ?? "";
  const line = cosignatureIn(answer.text, { text, cosigner: witness.cosigner });
  if (line === undefined) throw new Error("its answer has no valid cosignature by its key");
  return line;
}

/** Returns the size of the newest older head that a witness has cosigned, as far as is recorded here; 0 if there is none. */
async function lastCosigned({ auditHeads }: CosignDependencies, head: SignedHead, witness: Witness): Promise<number> {
  const heads = await auditHeads.list(head.treeId, 50);
  const older = heads.filter(({ epoch, size }) => epoch === head.epoch && size < head.size);
  return older.find(({ checkpoint }) => isCosigned(checkpoint, witness))?.size ?? 0;
}

/** Asks a witness that has answered with the size of the newest head it knows. */
async function askAgain(
  deps: CosignDependencies,
  { head, witness, seen }: { head: SignedHead; witness: Witness; seen: string },
) {
  const oldSize = /^(0|[1-9]\d{0,14})\n$/.test(seen) ? Number(seen) : undefined;
  if (oldSize === undefined) throw new Error("it answered 409 without the size that it knows");
  if (oldSize > head.size)
    throw new Error(`it has cosigned a head of ${oldSize} entries before, and this one has ${head.size}`);
  return ask(deps, { head, witness, oldSize });
}

async function ask(
  { reads }: CosignDependencies,
  { head, witness, oldSize }: { head: SignedHead; witness: Witness; oldSize: number },
) {
  const { treeId, size, checkpoint } = head;
  const proof = oldSize === 0 ? [] : await proveConsistency(nodesOf(reads, treeId), { from: oldSize, to: size });
  const lines = proof.map((hash) => `${hash.toString("base64")}\n`);
  return witness.addCheckpoint(`old ${oldSize}\n${lines.join("")}\n${checkpoint}`).catch((error: unknown) => {
    throw new NoAnswer(`no answer: ${(error as Error).message}`);
  });
}
