import { entriesAt, nodesOf, saltKeyOf } from "#projections/auditTree/queries.ts";
import { writeProof } from "#src/audit/inclusionProof.ts";
import { type Disclosure, disclosureText, entryOf } from "#src/audit/leaf.ts";
import { proveInclusion, type ReadNodes, type TreeNode } from "#src/audit/merkle.ts";
import { Behind } from "#src/eventStore/eventStore.ts";
import type { SignedHead } from "#src/platform/audit/heads.ts";
import type { NamedWitness } from "#src/platform/audit/witnesses.ts";
import type { Recorded } from "#streams/event.ts";
import type { Dependencies } from "../dependencies.ts";
import { type HeadDependencies, signHead } from "./signHead.ts";

/** An event's audit entry, its number in the tree, and the values behind its digests. */
export type NumberedEntry = { entry: number; event: Recorded; bytes: Buffer; disclosures: Disclosure[] };

/** An entry, and the hashes that lead from it to the root of the signed head. */
export type ProvenEntry = NumberedEntry & { hashes: readonly Buffer[] };

/** A signed head of a tree, and what proves entries by it. `verifierKey`: public key of the head's signature. */
export type Prover = {
  head: SignedHead;
  verifierKey: string;
  /** Returns the entries of events, in the order of the tree. No event may be newer than the head. */
  entriesOf(events: readonly Recorded[]): Promise<NumberedEntry[]>;
  /** Returns the same entries with their proofs. */
  prove(events: readonly Recorded[]): Promise<ProvenEntry[]>;
};

/**
 * Returns a prover whose signed head includes the event at `upTo`, a position in the log. Throws Behind if the tree does not reach it in
 * time, HeadContradicted, or EmptyTree.
 */
export async function proverOf(deps: HeadDependencies, treeId: string, upTo: number): Promise<Prover> {
  if (!(await deps.projected(upTo, { of: ["auditTree"] }))) throw new Behind(upTo, ["auditTree"]);
  const head = await signHead(deps, treeId, upTo);
  const saltKey = await saltKeyOf(deps.reads, treeId);
  if (!saltKey) throw new Error(`the audit tree ${treeId} has no salt key`);
  const verifierKey = await deps.auditHeads.verifierKeyOf(head);
  if (!verifierKey) throw new Error(`no public key is recorded for the newest head of the audit tree ${treeId}`);
  const entriesOf = (events: readonly Recorded[]) => numberedEntries(deps, { treeId, saltKey }, events);
  const read = nodesOf(deps.reads, treeId);
  return {
    head,
    verifierKey,
    entriesOf,
    async prove(events) {
      const numbered = await entriesOf(events);
      const proofs = await proveEach(
        read,
        numbered.map(({ entry }) => entry),
        head.size,
      );
      return numbered.map((each, n) => ({ ...each, hashes: proofs[n]! }));
    },
  };
}

/** Proves several entries with one read: neighbours share most of their hashes. */
async function proveEach(read: ReadNodes, entries: readonly number[], size: number): Promise<Buffer[][]> {
  const keyOf = ({ level, number }: TreeNode): string => `${level}/${number}`;
  const wanted = new Map<string, TreeNode>();
  const known = new Map<string, Buffer>();
  const proveAll = (readNodes: ReadNodes) =>
    Promise.all(entries.map((entry) => proveInclusion(readNodes, { entry, size })));
  // The first run only notes the nodes that the proofs need.
  await proveAll(async (nodes) => {
    for (const node of nodes) wanted.set(keyOf(node), node);
    return nodes.map(() => Buffer.alloc(32));
  });
  const hashes = await read([...wanted.values()]);
  for (const [n, key] of [...wanted.keys()].entries()) known.set(key, hashes[n]!);
  return proveAll(async (nodes) => nodes.map((node) => known.get(keyOf(node))!));
}

async function numberedEntries(
  { reads }: Pick<Dependencies, "reads">,
  { treeId, saltKey }: { treeId: string; saltKey: Buffer },
  events: readonly Recorded[],
): Promise<NumberedEntry[]> {
  const positions = events.map(({ position }) => position);
  const entries = await entriesAt(reads, treeId, positions);
  return events
    .toSorted((a, b) => a.position - b.position)
    .map((event) => {
      const entry = entries.get(event.position);
      if (entry === undefined) throw new Error(`the event ${event.id} is not in the audit tree ${treeId}`);
      const { bytes, disclosures, secrets } = entryOf(event, saltKey);
      return { entry, event, bytes, disclosures: disclosures.filter(([, path]) => !secrets.has(path)) };
    });
}

/**
 * Returns the policy by which a checkpoint of this log is accepted, in the form of C2SP tlog-policy. It names the witnesses and requires
 * none: one that was away has not cosigned.
 */
export const policyOf = (
  { verifierKey }: Pick<Prover, "verifierKey">,
  witnesses: readonly NamedWitness[] = [],
): string => {
  const lines = witnesses.map((witness) => `witness ${witness.verifierKey.split("+")[0]} ${witness.verifierKey}\n`);
  return `log ${verifierKey}\n${lines.join("")}quorum none\n`;
};

export const proofFile = ({ entry, hashes }: ProvenEntry, { checkpoint }: SignedHead): string =>
  writeProof({ entry, hashes, checkpoint });

/** Returns the lines of `disclosures.jsonl` for an entry. `disclosure` is the JSON whose base64url the digest is made from (RFC 9901). */
export const disclosureLines = ({ entry, disclosures }: Pick<NumberedEntry, "entry" | "disclosures">): string =>
  disclosures.map((each) => `${JSON.stringify({ entry, disclosure: disclosureText(each) })}\n`).join("");
