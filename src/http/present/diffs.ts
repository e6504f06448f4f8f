import { diffLines } from "diff";
import type { Static } from "typebox";
import type { VersionContent } from "#src/commands/drafts/draftHistories.ts";
import type { DraftDiff } from "../schemas/histories.ts";

type Changes = Static<typeof DraftDiff>["changes"];
type Line = NonNullable<Changes[number]["lines"]>[number];

/** In the order a reader cares. */
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

/** What differs between two versions, field by field; texts also line by line. */
export function presentChanges(from: VersionContent, to: VersionContent): Changes {
  const before = fieldsOf(from);
  const after = fieldsOf(to);
  return fields
    .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
    .map((field) => ({ field, from: before[field], to: after[field], lines: linesOf(before[field], after[field]) }));
}

const fieldsOf = ({ content, rationale }: VersionContent): Record<string, unknown> => ({ ...content, rationale });

function linesOf(from: unknown, to: unknown): Line[] | null {
  if (typeof (from ?? "") !== "string" || typeof (to ?? "") !== "string") return null;
  return lineDiff((from as string | null) ?? "", (to as string | null) ?? "");
}

/** Above this many changed lines the work becomes too expensive, and the answer would not help a reader. */
const maxEditLength = 1_000;

/** Every line of both texts, in order: what stayed, what went, what came. */
export function lineDiff(from: string, to: string): Line[] {
  const parts = diffLines(from, to, { maxEditLength });
  if (!parts) return [...linesAs("removed", from), ...linesAs("added", to)];
  return parts.flatMap(({ value, added, removed }) => linesAs(added ? "added" : removed ? "removed" : "same", value));
}

function linesAs(change: Line["change"], text: string): Line[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines.map((line) => ({ change, text: line }));
}
