import { type InboundRow, inboundById, listInbound } from "#projections/inbound/queries.ts";
import { Rejected } from "#streams/decider.ts";
import type { HttpDependencies } from "./framework/dependencies.ts";
import { listRoute } from "./framework/lists.ts";
import { type Route, route } from "./framework/route.ts";
import { requireContent, storedBytes } from "./messages.ts";
import { fileReply } from "./present/files.ts";
import { timestamp } from "./present/times.ts";
import { InboundEntry, InboundList, InboundQuery } from "./schemas/messages.ts";

const present = (row: InboundRow & { raw_sha256?: string; expired_after_days?: number | null }) => {
  const { raw_sha256: _, expired_after_days: __, ...entry } = row;
  return { ...entry, received_at: timestamp(row.received_at) };
};

export const inboundRoutes = (deps: HttpDependencies): Route[] => {
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
      "GET /v1/inbound/:id/raw",
      {
        scope: "read:threads",
        limit: "read",
        summary: "Download a delivery as it arrived",
        description:
          "404 once its content was removed, as its reason says. A reply to an approval mail quotes its links, and anyone who has them can decide. Downloading such a reply needs the scope write:approvals.",
        answers: { mediaType: "message/rfc822", description: "The original message" },
        load,
      },
      async ({ loaded: { id, disposition, raw_sha256, expired_after_days }, apiKey }) => {
        requireContent(expired_after_days);
        if (disposition === "approval_reply" && !apiKey.scopes.includes("write:approvals")) {
          throw new Rejected(
            "insufficient_scope",
            "this mail may quote approval links: reading it needs the scope write:approvals",
          );
        }
        const bytes = await storedBytes(deps, raw_sha256);
        return fileReply({ bytes, contentType: "message/rfc822", filename: `${id}.eml` });
      },
    ),
  ];
};
