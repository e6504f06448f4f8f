import Type from "typebox";
import { ActorShown, Envelope, Nullable, Paging, Strict, Timestamp, Uuid } from "./common.ts";

/** The state that an edit replaced. */
export const DraftVersion = Strict(
  {
    id: Uuid,
    draft_id: Uuid,
    version: Type.Integer({ minimum: 1 }),
    subject: Type.String(),
    body_text: Nullable(Type.String()),
    body_html: Nullable(Type.String()),
    cc: Type.Array(Type.String()),
    bcc: Type.Array(Type.String()),
    rationale: Nullable(Type.String()),
    edited_by: ActorShown,
    changed_fields: Type.Array(Type.String()),
    created_at: Timestamp,
  },
  { title: "DraftVersion" },
);

export const DraftVersionList = Envelope(DraftVersion);

/** One event of a draft's life, as the log has it. */
export const HistoryEntry = Strict(
  {
    id: Uuid,
    type: Type.String(),
    at: Timestamp,
    actor: Type.Object({ kind: Type.String(), id: Type.String() }),
    data: Type.Unsafe<Record<string, unknown>>({ type: "object" }),
    revision: Type.Integer({ minimum: 0 }),
    position: Type.Integer({ minimum: 0 }),
    caused_by: Nullable(Type.String()),
  },
  { title: "HistoryEntry" },
);

export const HistoryList = Envelope(HistoryEntry);
export const HistoryQuery = Paging;

const version = Type.Integer({ minimum: 1 });

export const DiffQuery = Strict({ from: version, to: version });

/** One changed field; text also line by line. */
const FieldChange = Strict({
  field: Type.String(),
  from: Type.Unknown(),
  to: Type.Unknown(),
  lines: Nullable(Type.Array(Strict({ change: Type.Enum(["same", "removed", "added"]), text: Type.String() }))),
});

export const DraftDiff = Strict(
  {
    draft_id: Uuid,
    from: version,
    to: version,
    /** Paths of both contents. */
    versions: Strict({ from: Type.String(), to: Type.String() }),
    changes: Type.Array(FieldChange),
    truncated: Type.Boolean(),
  },
  { title: "DraftDiff" },
);
