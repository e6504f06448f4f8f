import { diffLines, diffWordsWithSpace } from "diff";
import { visible, visibleLine } from "#src/html/visible.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { ApprovalView, PreviousVersion } from "../approvalView.ts";
import { letterOf } from "../letter.ts";
import { letterHead } from "./fields.ts";
import { foldQuote } from "./quotes.ts";

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
const most = { words: 40_000, edits: 1_000, context: 60, island: 12 };

export function changesSince(
  view: Pick<ApprovalView, "version" | "content" | "textDerived" | "previous" | "rationale" | "answers">,
): Changes | null {
  const { previous } = view;
  if (previous === null) return null;
  const fields = fieldChanges(previous.content, view.content);
  const [before, after] = [readingOf(previous, view), readingOf(view, view)];
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

/** What most recipients read: the words of the HTML if it can be shown, else the plain text; without what is quoted of the answered message. */
function readingOf(
  { content, textDerived }: Pick<PreviousVersion, "content" | "textDerived">,
  { answers }: Pick<ApprovalView, "answers">,
): string {
  const { html, text } = letterOf(content, { textDerived });
  if (html !== null && html !== "unreadable") {
    return foldQuote(html.asText, { signature: html.signatureAsText, answers }).text;
  }
  return foldQuote(visible(text), { signature: content.signature_text ?? "", answers }).text;
}

function fieldChanges(before: DraftContent, after: DraftContent): Changes["fields"] {
  const earlier = new Map(letterHead(before).map(({ label, values }) => [label, values]));
  const fields = letterHead(after).map(({ label, values }) => {
    const were = earlier.get(label) ?? [];
    return { label, removed: without(were, values), added: without(values, were) };
  });
  return [...fields, fileChanges(before, after)]
    .filter(({ removed, added }) => removed.length > 0 || added.length > 0)
    .map(({ label, removed, added }) => ({ label, removed: removed.map(visibleLine), added: added.map(visibleLine) }));
}

const without = (values: string[], others: string[]): string[] => values.filter((value) => !others.includes(value));

/** A file is its name and its bytes: another one under the same name is a change, and called one. */
function fileChanges(before: DraftContent, after: DraftContent): Changes["fields"][number] {
  const lost = (all: DraftContent["attachments"], others: DraftContent["attachments"], which: string) =>
    all
      .filter((file) => !others.some((other) => other.filename === file.filename && other.sha256 === file.sha256))
      .map(({ filename }) =>
        others.some((other) => other.filename === filename) ? `${filename} (${which} contents)` : filename,
      );
  return {
    label: "Attached",
    removed: lost(before.attachments, after.attachments, "earlier"),
    added: lost(after.attachments, before.attachments, "new"),
  };
}

/** Null if too much of it changed. */
function diffOf(before: string, after: string): Piece[] | null {
  const options = { maxEditLength: most.edits };
  const parts =
    Math.max(before.length, after.length) > most.words
      ? diffLines(before, after, options)
      : diffWordsWithSpace(before, after, options);
  if (!parts) return null;
  const pieces = inRuns(parts);
  return pieces.map(({ kind, text }, index): Piece => {
    const place = { isFirst: index === 0, isLast: index === pieces.length - 1 };
    return { kind, text: kind === "same" ? nearby(text, place) : text };
  });
}

/** A word or two that stayed the same between changes of a line reads better as part of them: first all that was removed, then all that was added. */
function inRuns(parts: readonly { value: string; added: boolean; removed: boolean }[]): Piece[] {
  const pieces: Piece[] = [];
  let run = { removed: "", added: "" };
  const endRun = () => {
    if (run.removed !== "") pieces.push({ kind: "removed", text: run.removed });
    if (run.added !== "") pieces.push({ kind: "added", text: run.added });
    run = { removed: "", added: "" };
  };
  parts.forEach(({ value, added, removed }, index) => {
    const isIsland = index > 0 && index < parts.length - 1 && value.length <= most.island && !value.includes("\n");
    if (!added && !removed && !isIsland) {
      endRun();
      pieces.push({ kind: "same", text: value });
      return;
    }
    if (!added) run.removed += value;
    if (!removed) run.added += value;
  });
  endRun();
  return pieces;
}

/** The ends of an unchanged part that are next to a change. */
function nearby(text: string, { isFirst, isLast }: { isFirst: boolean; isLast: boolean }): string {
  const letters = [...text];
  const start = isFirst ? 0 : most.context;
  const end = isLast ? 0 : most.context;
  if (letters.length <= start + end + 1) return text;
  return `${letters.slice(0, start).join("")}…${end === 0 ? "" : letters.slice(-end).join("")}`;
}
