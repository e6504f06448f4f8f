import { diffLines } from "diff";
import type { DraftContent } from "#streams/draft/content.ts";

/** The content of a draft in one version, and its rationale. */
export type VersionContent = { content: DraftContent; rationale: string | null };

export type DiffLine = { change: "same" | "removed" | "added"; text: string };

/**
 * A changed field. `lines`: only for texts. If the change is not shown in full, the values are null, and only the first lines are
 * included.
 */
export type FieldChange = { field: string; from: unknown; to: unknown; lines: DiffLine[] | null };

/** `truncated`: more changed than fits in `room`. */
export type Comparison = { changes: FieldChange[]; truncated: boolean };

/** Size limit of a comparison: lines, and bytes as JSON. */
export type ComparisonRoom = { lines: number; bytes: number };

export const usualRoom: ComparisonRoom = { lines: 2_000, bytes: 256 * 1024 };

/** Returns the room left after a comparison. */
export const roomAfter = (room: ComparisonRoom, { changes, truncated }: Comparison): ComparisonRoom => ({
  lines: truncated ? 0 : room.lines - changes.reduce((sum, { lines }) => sum + (lines?.length ?? 0), 0),
  bytes: truncated ? 0 : room.bytes - bytesOf(changes),
});

/** In the order of their importance to a reader. */
const fields = [
  "subject",
  "body_text",
  "body_html",
  "rationale",
  "to",
  "cc",
  "bcc",
  "from",
  "reply_to",
  "signature_text",
  "signature_html",
  "in_reply_to",
  "references",
  "attachments",
] as const;

/** Compares two versions field by field; texts also line by line. */
export function compareVersions({
  from,
  to,
  room = usualRoom,
}: {
  from: VersionContent;
  to: VersionContent;
  room?: ComparisonRoom;
}): Comparison {
  const before = fieldsOf(from);
  const after = fieldsOf(to);
  const changed = fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]));
  const left = { ...room };
  let truncated = false;
  const changes = changed.map((field) => {
    const lines = linesOf(before[field], after[field]);
    const whole = { field, from: before[field], to: after[field], lines };
    if (takes(left, { lines: lines?.length ?? 0, bytes: bytesOf(whole) })) return whole;
    truncated = true;
    return { field, from: null, to: null, lines: lines && beginningOf(lines, left) };
  });
  return { changes, truncated };
}

const fieldsOf = ({ content, rationale }: VersionContent): Record<string, unknown> => ({ ...content, rationale });

/** Takes the room if there is enough. */
function takes(left: ComparisonRoom, { lines, bytes }: ComparisonRoom): boolean {
  if (lines > left.lines || bytes > left.bytes) return false;
  left.lines -= lines;
  left.bytes -= bytes;
  return true;
}

function beginningOf(lines: readonly DiffLine[], left: ComparisonRoom): DiffLine[] {
  const end = lines.findIndex((line) => !takes(left, { lines: 1, bytes: bytesOf(line) }));
  return lines.slice(0, end === -1 ? lines.length : end);
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value)) + 1;

function linesOf(from: unknown, to: unknown): DiffLine[] | null {
  if (typeof (from ?? "") !== "string" || typeof (to ?? "") !== "string") return null;
  return lineDiff((from as string | null) ?? "", (to as string | null) ?? "");
}

/** With more changed lines than this, comparing becomes too expensive, and the result would not help a reader. */
const maxEditLength = 1_000;

/** Returns every line of both texts in order: unchanged, removed and added. Line breaks are compared only as far as a reader sees them. */
export function lineDiff(from: string, to: string): DiffLine[] {
  const parts = diffLines(from, to, { maxEditLength, ignoreNewlineAtEof: true, stripTrailingCr: true });
  if (!parts) return [...linesAs("removed", from), ...linesAs("added", to)];
  return parts.flatMap(({ value, added, removed }) => linesAs(added ? "added" : removed ? "removed" : "same", value));
}

function linesAs(change: DiffLine["change"], text: string): DiffLine[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => ({ change, text: line }));
}
