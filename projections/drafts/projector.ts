import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import { type Counts, moveCounts } from "../counts.ts";
import { followMerges } from "../merges.ts";
import type { Projection } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";
import { applyToDraft, type DraftRow, draftColumns } from "./row.ts";

const draftEvents = [
  "DraftSubmitted",
  "DraftEdited",
  "DraftApproved",
  "DraftRejected",
  "DraftReturnedToPending",
  "SendHeld",
  "DraftQueued",
  "DraftMarkedStale",
  "DraftSent",
  "DraftFailed",
  "LateEvidence",
  "ApproversAsked",
  "ApproversNotified",
  "NotificationFailed",
];

const versionColumns = [
  "id",
  "draft_id",
  "workspace_id",
  "version",
  "content",
  "content_blob",
  "content_sha256",
  "text_derived",
  "rationale",
  "edited_by",
  "changed_fields",
  "created_at",
] as const;

/** How many drafts a list has by what it is mostly asked for. */
const draftCounts: Counts = { table: "draft_counts", dimensions: ["workspace_id", "identity_id", "status"] };

/** The state that an edit replaces, and who replaced it. */
function replaced(row: DraftRow, event: Recorded): Record<string, unknown> {
  const { version, content, content_blob, content_sha256, text_derived, rationale, workspace_id } = row;
  const { kind, id, name } = event.metadata.actor;
  return {
    id: event.id,
    draft_id: row.id,
    workspace_id,
    version,
    content,
    content_blob,
    content_sha256,
    text_derived,
    rationale,
    edited_by: { kind, id, name: name ?? null },
    changed_fields: event.data.changedFields,
    created_at: event.metadata.at,
  };
}

export const drafts: Projection = {
  name: "drafts",
  version: 5,
  tables: ["drafts", "draft_counts", "draft_versions", "approval_tokens", "draft_thread_merges"],
  handles: [...draftEvents, "ThreadAbsorbed"],
  async project(tx, events) {
    const ofDrafts = events.filter((event) => event.type !== "ThreadAbsorbed");
    const ids = ofDrafts.map((event) => idOf(event.stream));
    const rows = await rowsById<DraftRow>(tx, "drafts", draftColumns, ids);
    const before = [...rows.values()];
    const versions: Record<string, unknown>[] = [];
    const tokens: Record<string, unknown>[] = [];
    for (const event of ofDrafts) {
      const id = idOf(event.stream);
      const known = rows.get(id);
      const change = event as unknown as DraftEvent;
      if (change.type === "DraftEdited" && known) versions.push(replaced(known, event));
      const row = applyToDraft(known, id, change, event.metadata);
      rows.set(id, row);
      if (change.type !== "ApproversAsked") continue;
      for (const token of change.data.tokens) {
        tokens.push({ token_sha256: token.sha256, draft_id: id, workspace_id: row.workspace_id });
      }
    }
    await upsertRows(tx, "drafts", ["id"], draftColumns, [...rows.values()]);
    await moveCounts(tx, draftCounts, before, [...rows.values()]);
    await upsertRows(tx, "draft_versions", ["id"], versionColumns, versions);
    await upsertRows(tx, "approval_tokens", ["token_sha256"], ["token_sha256", "draft_id", "workspace_id"], tokens);
    await followMerges(tx, { table: "drafts", merges: "draft_thread_merges" }, events, ids);
  },
};
