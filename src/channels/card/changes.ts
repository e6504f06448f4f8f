import { diffLines, diffWordsWithSpace } from "diff";
import { visible, visibleLine } from "#src/html/visible.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { ApprovalView, PreviousVersion } from "../approvalView.ts";
import { letterOf } from "../letter.ts";
import { letterHead } from "./fields.ts";

/** A part of the text; of what stayed the same only what is next to a change. */
export type Piece = { kind: "same" | "added" | "removed"; text: string };

/** What changed since the version that approvers were asked about last. */
export type Changes = {
  since: number;
  /** Why there is another version, and what cannot be shown piece by piece. */
  sentences: string[];
  /** Recipients, subject, attachments. */
  fields: { label: string; removed: string[]; added: string[] }[];
  /** [] if what recipients read is the same, and where too much of it changed to be laid side by side. */
  text: Piece[];
};

/** Longer texts are compared by lines: by words would take long. */
const most = { words: 40_000, edits: 1_000, context: 60 };

export function changesSince(
  view: Pick<ApprovalView, "version" | "content" | "textDerived" | "previous" | "rationale">,
): Changes | null {
  const { previous } = view;
  if (previous === null) return null;
  const fields = fieldChanges(previous.content, view.content);
  const [before, after] = [readingOf(previous), readingOf(view)];
  const pieces = before === after ? [] : diffOf(before, after);
  const isSame = previous.content.body_html === view.content.body_html && before === after;
  const sentences = [
    ...previous.because.flatMap((because) => reasons[because] ?? []),
    ...(pieces === null ? ["Most of its text is new: read all of it."] : []),
    ...(before === after && !isSame ? ["Its words are the same. How its HTML looks changed."] : []),
    ...(isSame && fields.length === 0 ? ["What would be sent is the same."] : []),
    ...(previous.rationale !== view.rationale ? ["The agent's reason changed."] : []),
  ];
  return { since: previous.version, sentences, fields, text: pieces ?? [] };
}

const reasons: Partial<Record<string, string>> = {
  edit: "The agent edited it.",
  identity_changed:
    "The service made a new version because the identity changed: its display name, reply address or signature.",
  html_reduced: "The service made a new version with HTML that every mail program can show.",
} satisfies Record<PreviousVersion["because"][number], string>;

/** What most recipients read: the words of the HTML if it can be shown, else the plain text. */
function readingOf({ content, textDerived }: Pick<PreviousVersion, "content" | "textDerived">): string {
  const { html, text } = letterOf(content, { textDerived });
  return visible(html === null || html === "unreadable" ? text : html.asText).trim();
}

function fieldChanges(before: DraftContent, after: DraftContent): Changes["fields"] {
  const earlier = new Map([...letterHead(before), attached(before)].map(({ label, values }) => [label, values]));
  return [...letterHead(after), attached(after)]
    .map(({ label, values }) => {
      const were = earlier.get(label) ?? [];
      return {
        label,
        removed: shown(were.filter((value) => !values.includes(value))),
        added: shown(values.filter((value) => !were.includes(value))),
      };
    })
    .filter(({ removed, added }) => removed.length > 0 || added.length > 0);
}

/** A file by its name and its bytes: another file under the same name is a change. */
const attached = ({ attachments }: DraftContent) => ({
  label: "Attached",
  values: attachments.map(
    ({ filename, content_type, sha256 }) => `${filename} (${content_type}, ${sha256.slice(0, 12)})`,
  ),
});

const shown = (values: string[]): string[] => values.map(visibleLine);

/** Null if too much of it changed. */
function diffOf(before: string, after: string): Piece[] | null {
  const options = { maxEditLength: most.edits };
  const parts =
    Math.max(before.length, after.length) > most.words
      ? diffLines(before, after, options)
      : diffWordsWithSpace(before, after, options);
  if (!parts) return null;
  return parts.map(({ value, added, removed }, index): Piece => {
    if (added || removed) return { kind: added ? "added" : "removed", text: value };
    return { kind: "same", text: nearby(value, { isFirst: index === 0, isLast: index === parts.length - 1 }) };
  });
}

/** The ends of an unchanged part that are next to a change. */
function nearby(text: string, { isFirst, isLast }: { isFirst: boolean; isLast: boolean }): string {
  const letters = [...text];
  const start = isFirst ? 0 : most.context;
  const end = isLast ? 0 : most.context;
  if (letters.length <= start + end + 1) return text;
  return `${letters.slice(0, start).join("")}…${end === 0 ? "" : letters.slice(-end).join("")}`;
}
