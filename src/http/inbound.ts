import { type InboundRow, inboundById, listInbound, type ReceivedRow } from "#projections/inbound/queries.ts";
import { messageById } from "#projections/messages/queries.ts";
import { fileByHand } from "#src/commands/inbound/fileByHand.ts";
import { mayShowRawMail } from "#src/commands/inbound/leakedLinks.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { listRoute } from "./framework/lists.ts";
import { route } from "./framework/route.ts";
import { requireContent, requireMayDecide, storedBytes } from "./messages.ts";
import { fileReply } from "./present/files.ts";
import { timestamp } from "./present/times.ts";
import { InboundEntry, InboundList, InboundQuery } from "./schemas/messages.ts";

const present = (row: InboundRow & Partial<ReceivedRow>) => {
  const { inbox_revision: _, raw_sha256: __, expired_after_days: ___, thread_id: ____, ...entry } = row;
  return { ...entry, received_at: timestamp(row.received_at) };
};

export const inboundRoutes = (deps: HttpDependencies) => {
  const load = ({ workspaceId, params }: { workspaceId: string; params: { id: string } }) =>
    inboundById(deps.reads, workspaceId, params.id);
  return [
    listRoute(
      "GET /v1/inbound",
      {
        scope: "read:threads",
        limit: "read",
        summary: "List the ledger of received mail",
        description: "Every delivery has an entry, whatever its outcome. Newest first.",
        query: InboundQuery,
        answers: InboundList,
        cursors: deps.cursors,
      },
      async ({ workspaceId, query }) => {
        const entries = await listInbound(deps.reads, workspaceId, query);
        return { ...entries, data: entries.data.map(present) };
      },
    ),
    route(
      "GET /v1/inbound/:id",
      { scope: "read:threads", limit: "read", summary: "Read a delivery's entry", answers: InboundEntry, load },
      async ({ loaded }) => present(loaded),
    ),
    route(
      "POST /v1/inbound/:id/file",
      {
        scope: "write:drafts",
        limit: "write",
        summary: "File a mail as a message that was put aside",
        description:
          "For a copy of our own mail, a reaction, an automatic reply, a report or a colleague's mail that is somebody's word after all. It then fires email.received and makes older drafts stale; no grant applies to an answer to it. A message keeps its id. Once for an entry: then, and for any other mail, 422 `invalid_status`.",
        answers: InboundEntry,
        errors: ["invalid_status", "plan_limit_reached"],
        load,
      },
      async ({ workspaceId, params, loaded: entry, cause }) => {
        const { position } = await fileByHand(deps, { workspaceId, entry }, cause);
        await deps.readAfter(position, params.id);
        return present((await load({ workspaceId, params })) as ReceivedRow);
      },
    ),
    route(
      "GET /v1/inbound/:id/raw",
      {
        scope: "read:threads",
        limit: "read",
        summary: "Download a delivery as it arrived",
        description:
          "404 once its content was removed; the entry's reason says so. Anyone who has the links of an approval mail can decide. Mail that has approval links (an approval mail, a reply to one), or could not be searched for them to its end, needs the scope write:approvals.",
        answers: { mediaType: "message/rfc822", description: "The original message" },
        load,
      },
      async ({ workspaceId, loaded, principal }) => {
        const { id, raw_sha256, expired_after_days } = loaded;
        requireContent(expired_after_days);
        if (!principal.scopes.includes("write:approvals")) {
          requireMayDecide(principal, await isFreeOfLinks(deps, workspaceId, loaded));
        }
        const bytes = await storedBytes(deps, raw_sha256);
        return fileReply({ bytes, contentType: "message/rfc822", filename: `${id}.eml` });
      },
    ),
  ];
};

/** True if a received mail contains no approval links. Stored messages record it; other mail is searched now. */
async function isFreeOfLinks(deps: HttpDependencies, workspaceId: string, row: ReceivedRow): Promise<boolean> {
  const { disposition, message_id, identity_id: identityId, inbox_revision: revision } = row;
  // An approver's mail, or one that was never searched.
  if (disposition === "approval_reply" || identityId === null) return false;
  const message = message_id === null ? undefined : await messageById(deps.reads, workspaceId, message_id);
  return message ? message.approval_links === null : mayShowRawMail(deps, { identityId, revision });
}
