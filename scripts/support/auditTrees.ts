import { auditTreeOf, treeIds } from "#projections/auditTree/queries.ts";
import { originNow, signerOf } from "#src/commands/audit/signHead.ts";
import type { Dependencies } from "#src/commands/dependencies.ts";
import { isUuid } from "#src/commands/ids.ts";
import { StartError } from "#src/platform/startError.ts";
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

/** Returns the id of the tree that a command names. Throws Misuse or StartError. */
async function knownTree({ reads }: Dependencies, given: string): Promise<string> {
  if (!isUuid(given)) throw new Misuse(`${given} is not the id of a workspace.`);
  const treeId = given.toLowerCase();
  if (!(await auditTreeOf(reads, treeId))) throw new StartError("This workspace does not exist, or has no event yet.");
  return treeId;
}
