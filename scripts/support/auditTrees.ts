import { auditTreeOf, treeIds } from "#projections/auditTree/queries.ts";
import { installationTree } from "#projections/auditTree/treeId.ts";
import { beginEpoch } from "#src/commands/audit/beginEpoch.ts";
import { proverOf } from "#src/commands/audit/proofs.ts";
import { haveReadLog } from "#src/commands/audit/signGrownTrees.ts";
import { checkCopy, HeadContradicted, originNow, signerOf, signHead } from "#src/commands/audit/signHead.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { isUuid } from "#src/commands/ids.ts";
import { Behind } from "#src/eventStore/eventStore.ts";
import { StartError } from "#src/platform/startError.ts";
import type { Recorded } from "#streams/event.ts";
import { Misuse } from "./command.ts";

/** Requests a day of one tree to one witness: a head an hour, each asked about once more if the witness knows another size. */
const requestsPerDay = 48;

/**
 * Returns what a witness has to know of the audit trees (default: of all), as a list of logs in the form that witnesses of the Witness
 * Network read.
 */
export async function witnessLines(deps: Dependencies, workspaceId?: string): Promise<string> {
  const trees = workspaceId === undefined ? await treeIds(deps.reads) : [await knownTree(deps, workspaceId)];
  const logs = [];
  for (const treeId of trees) {
    const { origin } = await originNow(deps, treeId);
    const { verifierKey } = signerOf(deps, origin);
    const { publicUrl } = deps.settings;
    logs.push(`vkey ${verifierKey}\norigin ${origin}\nbastion none\nqpd ${requestsPerDay}\ncontact ${publicUrl}\n`);
  }
  return ["logs/v0\n", ...logs].join("\n");
}

/** Describes which entries of its workspace's tree events are, and the signed head that proves them. Signs one if the newest is older. */
export async function proofInWords(deps: Dependencies, events: readonly Recorded[]): Promise<string> {
  const { workspaceId } = events[0]!.metadata;
  const upTo = Math.max(...events.map(({ position }) => position));
  try {
    const { head, entriesOf } = await proverOf(deps, workspaceId ?? installationTree, upTo);
    const [origin, size, root] = head.checkpoint.split("\n");
    const entries = (await entriesOf(events)).map(({ entry }) => entry);
    return `Proved to the head of ${size} entries of ${origin}, root ${root}, signed ${head.signedAt.toISOString()}: entries ${entries.join(", ")}.`;
  } catch (error) {
    if (error instanceof HeadContradicted) return `Not proven. ${error.message}`;
    if (error instanceof Behind)
      return "Not proven now: the audit tree has not reached these events. Is the service running?";
    throw error;
  }
}

/** Trees that a command names: one, a workspace's, or all that contradict their signed heads. */
export type NamedTrees = { tree?: string | undefined; workspace?: string | undefined; all?: boolean | undefined };

/**
 * Begins a new epoch of audit trees that do not continue their signed heads. Yields a sentence for each. Throws Misuse or StartError; a
 * tree that continues its heads gets no new epoch.
 */
export async function* beginEpochs(
  deps: Dependencies,
  named: NamedTrees,
  reason: string | undefined,
): AsyncGenerator<string> {
  if (!reason?.trim()) throw new Misuse("--reason: say in a sentence why the history was put back; auditors read it.");
  if (!(await haveReadLog(deps)))
    throw new StartError("The audit trees have not read the whole log. Start an instance, and repeat this command.");
  for (const treeId of await contradictedTrees(deps, named)) {
    const id = deps.ids.uuid();
    const workspaceId = treeId === installationTree ? null : treeId;
    const actor = { kind: "operator", id: "npm run audit" } as const;
    const head = await beginEpoch(deps, { treeId, reason }, { actor, workspaceId, correlationId: id, causationId: id });
    yield head
      ? `Audit tree ${treeId}: epoch ${head.epoch} has begun; its first head has ${head.size} entries.`
      : `Audit tree ${treeId}: a new epoch has begun; a running instance signs its first head.`;
  }
}

async function contradictedTrees(deps: Dependencies, { tree, workspace, all }: NamedTrees): Promise<string[]> {
  const given = tree ?? workspace;
  if ((given === undefined) === !all) throw new Misuse("Give one of --tree ID, --workspace ID and --all.");
  const asked = given === undefined ? await treeIds(deps.reads) : [await knownTree(deps, given)];
  const trees = [];
  for (const treeId of asked) if (await isContradicted(deps, treeId)) trees.push(treeId);
  if (trees.length > 0) return trees;
  const continued = given === undefined ? "Every audit tree continues its" : "This audit tree continues its";
  throw new StartError(`${continued} signed heads: no new epoch is needed.`);
}

async function isContradicted(deps: Dependencies, treeId: string): Promise<boolean> {
  try {
    await checkCopy(deps, treeId);
    await signHead(deps, treeId);
    return false;
  } catch (error) {
    if (error instanceof HeadContradicted) return true;
    throw error;
  }
}

/** Returns the id of the tree that a command names. Throws Misuse or StartError. */
async function knownTree({ reads }: Dependencies, given: string): Promise<string> {
  if (!isUuid(given)) throw new Misuse(`${given} is not the id of a workspace or tree.`);
  const treeId = given.toLowerCase();
  if (!(await auditTreeOf(reads, treeId)))
    throw new StartError("There is no such workspace or audit tree, or it has no event yet.");
  return treeId;
}
