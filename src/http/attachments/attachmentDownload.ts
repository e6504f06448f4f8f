import { messageById } from "#projections/messages/queries.ts";
import type { HttpDependencies } from "../framework/dependencies.ts";
import { type Route, route } from "../framework/route.ts";
import { storedBytes } from "../messages.ts";
import { fileReply } from "../present/files.ts";
import { withBody } from "../present/messages.ts";
import { AttachmentParams } from "../schemas/messages.ts";

export const attachmentDownloadRoutes = (deps: HttpDependencies): Route[] => [
  route(
    "GET /v1/messages/:id/attachments/:attachment_id",
    {
      scope: "read:threads",
      limit: "read",
      summary: "Download an attachment of a message",
      description:
        "The file is always sent as a download. Types that a browser could execute are sent as application/octet-stream.",
      params: AttachmentParams,
      answers: { mediaType: "application/octet-stream", description: "The attachment's bytes, under its own type" },
      load: ({ workspaceId, params }) => attachmentOf(deps, workspaceId, params),
    },
    async ({ loaded: { sha256, contentType, filename } }) =>
      fileReply({ bytes: await storedBytes(deps, sha256), contentType, filename }),
  ),
];

async function attachmentOf(
  deps: HttpDependencies,
  workspaceId: string,
  params: { id: string; attachment_id: string },
) {
  const message = await messageById(deps.reads, workspaceId, params.id);
  if (!message) return undefined;
  const { attachments } = await withBody(deps.blobs, message);
  return attachments.find((attachment) => attachment.id === params.attachment_id);
}
