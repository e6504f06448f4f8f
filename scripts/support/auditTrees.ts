import { auditTreeOf, treeIds } from "#projections/auditTree/queries.ts";
import { installationTree } from "#projections/auditTree/treeId.ts";
import { proverOf } from "#src/commands/audit/proofs.ts";
import { HeadContradicted, originNow, signerOf } from "#src/commands/audit/signHead.ts";
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

/** Returns the id of the tree that a command names. Throws Misuse or StartError. */
async function knownTree({ reads }: Dependencies, given: string): Promise<string> {
  if (!isUuid(given)) throw new Misuse(`${given} is not the id of a workspace.`);
  const treeId = given.toLowerCase();
  if (!(await auditTreeOf(reads, treeId))) throw new StartError("This workspace does not exist, or has no event yet.");
  return treeId;
}
