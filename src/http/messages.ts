import { messageExpiredAfter } from "#projections/inbound/queries.ts";
import { type MessageRow, messageById } from "#projections/messages/queries.ts";
import { handedOverMime } from "#src/commands/drafts/draftHistories.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { Principal } from "./framework/principal.ts";
import { route } from "./framework/route.ts";
import { fileReply } from "./present/files.ts";

export const messageRoutes = (deps: HttpDependencies) => [
  route(
    "GET /v1/messages/:id/raw",
    {
      scope: "read:threads",
      limit: "read",
      summary: "Download a message as it arrived, or as it was handed over",
      description:
        "An inbound message is returned byte for byte as it followed DATA. If it has approval links, or could not be searched for them to its end, this needs the scope write:approvals. An outbound message is returned as the delivery provider got it (404 before that). 404 for a quarantined message whose content was removed, as its delivery's reason says.",
      answers: { mediaType: "message/rfc822", description: "The original message" },
      load: ({ workspaceId, params }) => messageById(deps.reads, workspaceId, params.id),
    },
    async ({ workspaceId, loaded: message, principal }) => {
      requireMayDecide(principal, message.approval_links === null);
      // Only quarantined mail can have a message and expire.
      if (message.quarantined) requireContent(await messageExpiredAfter(deps.reads, workspaceId, message.id));
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

/**
 * Anyone with an approval link can decide, so mail that may contain one is shown in its original form only to keys that may change
 * approvals. Throws Rejected (`insufficient_scope`).
 */
export function requireMayDecide({ kind, scopes }: Pick<Principal, "kind" | "scopes">, isFreeOfLinks: boolean): void {
  if (isFreeOfLinks || scopes.includes("write:approvals")) return;
  const remedy =
    kind === "session"
      ? "your role does not allow downloading it or its attachments: ask an owner or an admin"
      : "use a key with the scope write:approvals to download it or its attachments";
  throw new Rejected("insufficient_scope", `this mail may contain approval links: ${remedy}`);
}

/** `expiredAfterDays`: days after which the content of a mail was removed, if it was. Throws Rejected (`not_found`) then. */
export function requireContent(expiredAfterDays: number | null | undefined): void {
  if (expiredAfterDays == null) return;
  const days = expiredAfterDays === 1 ? "1 day" : `${expiredAfterDays} days`;
  throw new Rejected(
    "not_found",
    `the content of this mail was removed after ${days}, according to the operator's settings: ask the sender to write again`,
  );
}

export async function storedBytes(deps: HttpDependencies, sha256: string): Promise<Buffer> {
  const bytes = await deps.blobs.get(sha256);
  if (!bytes) throw new Error(`the blob ${sha256} is missing`);
  return bytes;
}
