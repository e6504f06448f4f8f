import { type HeadRow, listHeads } from "#projections/auditTree/queries.ts";
import { readCheckpoint } from "#src/audit/checkpoint.ts";
import { readVerifierKey, splitNote } from "#src/audit/signedNote.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { listRoute } from "../framework/lists.ts";
import { AuditHeadList, AuditHeadQuery } from "../schemas/audit.ts";

/** Route for the signed heads of a workspace's audit tree. */
export const auditHeadRoutes = (deps: HttpDependencies) => [
  listRoute(
    "GET /v1/audit/heads",
    {
      scope: "read:audit",
      limit: "read",
      summary: "List the signed heads of the audit tree",
      description:
        "Newest first. A head is signed within an hour of a new event, and when evidence is downloaded. Who keeps heads outside can show later that the history was not changed.",
      query: AuditHeadQuery,
      answers: AuditHeadList,
      cursors: deps.cursors,
    },
    async ({ workspaceId, query }) => {
      const heads = await listHeads(deps.reads, workspaceId, query);
      return { ...heads, data: heads.data.map(presentHead) };
    },
  ),
];

/** Signatures by other names than that of the log are those of witnesses. */
function presentHead({ epoch, size, checkpoint, verifier_key, signed_at }: HeadRow) {
  const root = readCheckpoint(checkpoint)?.root.toString("base64") ?? "";
  const { name: service } = readVerifierKey(verifier_key);
  const signers = splitNote(checkpoint)?.signatures.map(({ name }) => name) ?? [];
  const witnesses = signers.filter((name) => name !== service);
  return { epoch, size, root, signed_at, verifier_key, witnesses, checkpoint };
}
