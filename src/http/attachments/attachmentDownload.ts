import { messageById } from "#projections/messages/queries.ts";
import type { HttpDependencies } from "../dependencies.ts";
import { route } from "../framework/route.ts";
import { requireMayDecide, storedBytes } from "../messages.ts";
import { fileReply } from "../present/files.ts";
import { withBody } from "../present/messages.ts";
import { AttachmentParams } from "../schemas/messages.ts";

export const attachmentDownloadRoutes = (deps: HttpDependencies) => [
  route(
    "GET /v1/messages/:id/attachments/:attachment_id",
    {
      scope: "read:threads",
      limit: "read",
      summary: "Download an attachment of a message",
      description:
        "The file is always sent as a download. If the message has approval links, or could not be searched for them to its end, this needs the scope write:approvals. Types that a browser could execute are sent as application/octet-stream.",
      params: AttachmentParams,
      answers: { mediaType: "application/octet-stream", description: "The attachment's bytes, under its own type" },
      load: ({ workspaceId, params }) => attachmentOf(deps, workspaceId, params),
    },
    async ({ loaded: { attachment, approval_links }, principal }) => {
      requireMayDecide(principal, approval_links === null);
      const { sha256, contentType, filename } = attachment;
      return fileReply({ bytes: await storedBytes(deps, sha256), contentType, filename });
    },
  ),
];

async function attachmentOf(
  deps: HttpDependencies,
  workspaceId: string,
  params: { id: string; attachment_id: string },
) {
  const message = await messageById(deps.reads, workspaceId, params.id);
  if (!message) return undefined;
  const { attachments, approval_links } = await withBody(deps.blobs, message);
  const attachment = attachments.find(({ id }) => id === params.attachment_id);
  return attachment && { attachment, approval_links };
}
