import { type MessageRow, messageById } from "#projections/messages/queries.ts";
import { handedOverMime } from "#src/commands/drafts/draftHistories.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./framework/dependencies.ts";
import { type Route, route } from "./framework/route.ts";
import { fileReply } from "./present/files.ts";

export const messageRoutes = (deps: HttpDependencies): Route[] => [
  route(
    "GET /v1/messages/:id/raw",
    {
      scope: "read:threads",
      limit: "read",
      summary: "Download a message as it arrived, or as it was handed over",
      description:
        "An inbound message is returned byte for byte as it followed DATA. An outbound message is returned as the delivery provider got it (404 before that).",
      answers: { mediaType: "message/rfc822", description: "The original message" },
      load: ({ workspaceId, params }) => messageById(deps.reads, workspaceId, params.id),
    },
    async ({ loaded: message }) => {
      const sha256 = message.raw_sha256 ?? (await mimeOf(deps, message));
      if (sha256 === undefined)
        throw new Rejected(
          "not_found",
          "this message has no raw content yet: it has not been handed to the delivery provider",
        );
      return fileReply({
        bytes: await storedBytes(deps, sha256),
        contentType: "message/rfc822",
        filename: `${message.id}.eml`,
      });
    },
  ),
];

const mimeOf = async (deps: HttpDependencies, { draft_id }: MessageRow): Promise<string | undefined> =>
  draft_id === null ? undefined : handedOverMime(deps, draft_id);

export async function storedBytes(deps: HttpDependencies, sha256: string): Promise<Buffer> {
  const bytes = await deps.blobs.get(sha256);
  if (!bytes) throw new Error(`the blob ${sha256} is missing`);
  return bytes;
}
