import Type, { type Static } from "typebox";
import { contactById } from "#projections/contacts/queries.ts";
import { threadById } from "#projections/threads/queries.ts";
import { auditExport } from "#src/commands/audit/auditExport.ts";
import type { ExportScope } from "#src/commands/audit/exportScope.ts";
import { isUuid } from "#src/commands/ids.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { invalid } from "../framework/errors.ts";
import { createLongRequestLimit } from "../framework/longRequestLimit.ts";
import { route } from "../framework/route.ts";
import { EmailAddress, Strict, Timestamp, Uuid } from "../schemas/common.ts";
import { archiveReply } from "./archive.ts";
import { contradictionConflict, whenContradicted } from "./contradicted.ts";
import { verifier } from "./verifier.ts";

const ExportQuery = Strict({
  thread: Type.Optional(Uuid),
  contact: Type.Optional(Type.Union([Uuid, EmailAddress], { description: "The id or the address of a person." })),
  from: Type.Optional(Timestamp),
  to: Type.Optional(Timestamp),
});

/** Maximum number of exports that an instance makes for a workspace at a time: each reads much of the log, several times. */
const mostExports = 2;

/** Routes that export proven events of many drafts, or about a person. */
export function exportRoutes(deps: HttpDependencies) {
  const places = createLongRequestLimit("exports", deps);
  return [
    route(
      "GET /v1/audit/export",
      {
        scope: "read:audit",
        limit: "read",
        summary: "Export proven events with their mails",
        description:
          "A ZIP archive of the events of a thread, of everything about a person, or of the whole workspace, in a period if one is given: entries with proofs, the values behind their digests, contents of drafts, mails (mboxrd), counts, errors, checksums, and `verify.mjs`, which checks them without this service. It is made while it is read. The header Audit-Entries has the greatest possible number of its entries. A workspace has at most two exports at a time.",
        query: ExportQuery,
        answers: { mediaType: "application/zip", description: "The export" },
        conflict: contradictionConflict,
        errors: ["not_found"],
      },
      async ({ workspaceId, principal, query }) => {
        const scope = await scopeOf(deps, workspaceId, query);
        const mayReadLinks = principal.scopes.includes("write:approvals");
        const place = places.take([{ name: "this workspace", id: workspaceId, most: mostExports }]);
        const making = whenContradicted(auditExport(deps, { workspaceId, scope, mayReadLinks, verifier }));
        making.catch(place.leave);
        const made = await making;
        return archiveReply({
          onClose: place.leave,
          until: place.replaced,
          files: made.files,
          filename: `audit-${made.signedAt.toISOString().slice(0, 10)}.zip`,
          mtime: made.signedAt,
          headers: { "Audit-Entries": String(made.maxEntries) },
        });
      },
    ),
  ];
}

async function scopeOf(
  { reads }: HttpDependencies,
  workspaceId: string,
  { thread, contact, ...period }: Static<typeof ExportQuery>,
): Promise<ExportScope> {
  const { from = null, to = null }: { from?: string | null; to?: string | null } = period;
  if (thread !== undefined && contact !== undefined) throw invalid("contact", "give a thread or a contact, not both");
  if (thread !== undefined) {
    if (!(await threadById(reads, workspaceId, thread))) throw new Rejected("not_found", "thread: no such thread");
    return { about: { threadId: thread }, from, to };
  }
  if (contact === undefined) return { about: null, from, to };
  if (!isUuid(contact)) return { about: { address: contact.toLowerCase() }, from, to };
  const person = await contactById(reads, workspaceId, contact);
  if (!person) throw new Rejected("not_found", "contact: no such contact");
  return { about: { address: person.email.toLowerCase() }, from, to };
}
