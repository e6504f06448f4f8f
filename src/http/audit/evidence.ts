import { draftEvidence } from "#src/commands/audit/draftEvidence.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { loadDraftId } from "../drafts/draftAnswers.ts";
import { route } from "../framework/route.ts";
import { archiveReply } from "./archive.ts";
import { contradictionConflict, whenContradicted } from "./contradicted.ts";
import { verifier } from "./verifier.ts";

/** Routes that return the evidence of a draft. */
export const evidenceRoutes = (deps: HttpDependencies) => [
  route(
    "GET /v1/drafts/:id/evidence",
    {
      scope: "read:audit",
      limit: "read",
      summary: "Download what proves a draft's history to an outsider",
      description:
        "A ZIP archive: each event as an audit entry with a proof that it is in the signed tree, the values behind the entries' digests, the mail that was handed over and the one that it answers, the approved content, a page to read (`index.html`), and `verify.mjs`, which checks all of it without this service. If the answered mail may contain approval links, it is included for keys with the scope write:approvals alone.",
      answers: { mediaType: "application/zip", description: "The evidence" },
      conflict: contradictionConflict,
      load: loadDraftId(deps),
    },
    async ({ workspaceId, principal, loaded: { id } }) => {
      const mayReadLinks = principal.scopes.includes("write:approvals");
      const evidence = await whenContradicted(
        draftEvidence(deps, { workspaceId, draftId: id, mayReadLinks, verifier }),
      );
      return archiveReply({ files: evidence.files, filename: `evidence-${id}.zip`, mtime: evidence.signedAt });
    },
  ),
];
