import type { DraftEvent } from "#streams/draft/events.ts";
import { idOf, type Recorded } from "#streams/event.ts";
import type { ThreadEvent } from "#streams/thread/events.ts";
import { type Counts, updateCounts } from "../counts.ts";
import { moveRowsToSurvivors } from "../merges.ts";
import type { Projection } from "../projection.ts";
import { rowsById, upsertRows } from "../rows.ts";
import { draftTypes } from "./draftTypes.ts";
import { writePeople } from "./people.ts";
import { requestsOf, writeRequests } from "./requests.ts";
import { applyToDraft, type DraftRow, draftColumns } from "./row.ts";

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

const draftTable = { table: "drafts", columns: draftColumns };
const tokenTable = {
  table: "approval_tokens",
  key: ["token_sha256"],
  columns: ["token_sha256", "draft_id", "workspace_id"],
};
const listTable = {
  table: "approval_lists",
  key: ["list_sha256", "draft_id"],
  columns: ["list_sha256", "draft_id", "workspace_id"],
};

/** Counts of drafts by the most common filters of lists. */
const draftCounts: Counts = { table: "draft_counts", dimensions: ["workspace_id", "identity_id", "status"] };

type Edited = Extract<DraftEvent, { type: "DraftEdited" }>;
type Absorbed = Extract<ThreadEvent, { type: "ThreadAbsorbed" }>;

/** Returns the version that an edit replaces, and the editor. */
function replaced(row: DraftRow, event: Recorded<Edited>): Record<string, unknown> {
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

export const drafts: Projection<DraftEvent | Absorbed> = {
  name: "drafts",
  version: 20,
  tables: [
    "drafts",
    "draft_counts",
    "draft_versions",
    "approval_tokens",
    "approval_requests",
    "approval_lists",
    "draft_people",
    "draft_thread_merges",
  ],
  hasLateIndexes: true,
  handles: [...draftTypes, "ThreadAbsorbed"],
  async project(tx, events) {
    const ofDrafts = events.filter((event) => event.type !== "ThreadAbsorbed");
    const ids = ofDrafts.map((event) => idOf(event.stream));
    const [rows, requests] = await Promise.all([rowsById<DraftRow>(tx, draftTable, ids), requestsOf(tx, ids)]);
    const before = [...rows.values()];
    const versions: Record<string, unknown>[] = [];
    const tokens = new Map<string, Record<string, unknown>>();
    const lists: Record<string, unknown>[] = [];
    for (const event of ofDrafts) {
      const id = idOf(event.stream);
      const known = rows.get(id);
      if (event.type === "DraftEdited" && known) versions.push(replaced(known, event));
      const row = applyToDraft(known, event);
      rows.set(id, row);
      if (event.type !== "ApproversAsked") continue;
      const of = { draft_id: id, workspace_id: row.workspace_id };
      for (const { sha256 } of event.data.tokens) tokens.set(sha256, { token_sha256: sha256, ...of });
      const { listSha256 } = event.data;
      if (listSha256 === undefined) continue;
      // A list's token is looked up like any other: it leads to one of its drafts, and so to its workspace.
      tokens.set(listSha256, { token_sha256: listSha256, ...of });
      lists.push({ list_sha256: listSha256, ...of });
    }
    upsertRows(tx, draftTable, [...rows.values()]);
    updateCounts(tx, draftCounts, { before, after: [...rows.values()] });
    upsertRows(tx, { table: "draft_versions", columns: versionColumns }, versions);
    upsertRows(tx, tokenTable, [...tokens.values()]);
    upsertRows(tx, listTable, lists);
    writeRequests(tx, requests, { events: ofDrafts, drafts: rows });
    writePeople(tx, ofDrafts, rows);
    // The row of an earlier draft already has the surviving thread.
    const begun = ofDrafts.filter(({ type }) => type === "DraftSubmitted").map(({ stream }) => idOf(stream));
    moveRowsToSurvivors(tx, { table: "drafts", merges: "draft_thread_merges" }, { events, written: begun });
  },
};
