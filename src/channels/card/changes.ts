import { isDeepStrictEqual } from "node:util";
import { diffLines, diffWordsWithSpace } from "diff";
import { shortLine, visible, visibleLine } from "#src/html/visible.ts";
import { cutText } from "#streams/cutText.ts";
import type { DraftContent } from "#streams/draft/content.ts";
import type { ApprovalView, PreviousVersion, RequestedChanges } from "../approvalView.ts";
import { type DraftLetter, letterOf } from "../letter.ts";
import { letterHead } from "./fields.ts";
import { named } from "./names.ts";
import type { FoldedText } from "./quotes.ts";
import { foldQuote } from "./quotes.ts";

/** A part of the text; unchanged parts are shown only next to a change. */
export type ChangePiece = { kind: "same" | "added" | "removed"; text: string };

/** Changes since the version that approvers were asked about last. */
export type Changes = {
  since: number;
  /** Reasons for the new version, and changes that cannot be shown in detail. */
  sentences: string[];
  /** Changed recipients, subject and attachments. */
  fields: { label: string; removed: string[]; added: string[] }[];
  /** [] if the text that recipients read is unchanged, or changed too much to be compared. */
  text: ChangePiece[];
};

/** Limits of the comparison. Texts longer than `words` characters are compared by lines, because a comparison by words would take long. */
const most = { words: 40_000, edits: 1_000, context: 60, island: 12 };

/** `letter`: the version that is asked about now. */
export function changesSince(
  view: Pick<ApprovalView, "content" | "textDerived" | "previous" | "rationale" | "answers" | "changesMade">,
  letter: DraftLetter,
): Changes | null {
  const { previous, answers } = view;
  if (previous === null) return null;
  const fields = fieldChanges(previous.content, view.content);
  // Differences between the earlier version's two forms no longer matter.
  const earlier = letterOf(previous.content, { textDerived: true });
  const before = { content: previous.content, letter: earlier, read: readingOf(earlier, { ...previous, answers }) };
  const after = { content: view.content, letter, read: readingOf(letter, view) };
  const pieces = before.read.text === after.read.text ? [] : diffOf(before.read.text, after.read.text);
  const unseen = changedBeside(before, after, view);
  const isSame = isDeepStrictEqual(previous.content, view.content);
  const isTold = fields.length + unseen.length > 0 || pieces === null || pieces.length > 0;
  const sentences = [
    ...(view.changesMade ? [requestInWords(view.changesMade)] : []),
    ...previous.because.flatMap((because) => reasons[because] ?? []),
    ...(pieces === null ? ["Most of its text is new: read all of it."] : []),
    ...unseen,
    ...(isSame ? ["The mail to be sent is the same."] : []),
    ...(isSame || isTold ? [] : ["Only technical details changed, or the order of recipients or files."]),
    ...(previous.rationale !== view.rationale ? ["The agent's reason changed."] : []),
  ];
  return { since: previous.version, sentences, fields, text: pieces ?? [] };
}

/** Quotes the request for changes that this version answers, so that it can be compared with what changed. */
const requestInWords = ({ by, text, version }: RequestedChanges): string =>
  `${named(by)} asked for changes to version ${version}: “${shortLine(text, maxRequest)}”`;

/** Characters shown of a request for changes. */
const maxRequest = 2_000;

type Version = { content: DraftContent; letter: DraftLetter; read: FoldedText };

/** Lists changes that the text comparison does not show. */
function changedBeside(before: Version, after: Version, { textDerived }: { textDerived: boolean }): string[] {
  const differs = (key: keyof DraftContent) => before.content[key] !== after.content[key];
  const hasOtherQuote = before.read.folded !== after.read.folded;
  const hasOtherHtml = differs("body_html") || differs("signature_html");
  const isSameReading = before.read.text === after.read.text && !hasOtherQuote;
  // For a version without HTML, the plain text was compared.
  const hasTwoForms = [before, after].every(({ letter }) => letter.html !== null);
  const hasOtherPlain = visible(before.letter.text) !== visible(after.letter.text);
  return [
    ...(hasOtherQuote ? ["The quoted text below it changed."] : []),
    ...(hasOtherHtml && isSameReading && hasTwoForms ? ["The words are the same. The look of the HTML changed."] : []),
    ...(hasTwoForms && hasOtherPlain && (!textDerived || differs("signature_text"))
      ? ["The plain-text version, which programs without HTML show, changed too."]
      : []),
  ];
}

const reasons: Partial<Record<string, string>> = {
  edit: "The agent edited it.",
  edited_by_person: "A person edited it.",
  identity_changed:
    "The service made a new version because the identity changed: its display name, reply address or signature.",
} satisfies Record<PreviousVersion["because"][number], string>;

type ReadContext = Pick<ApprovalView, "content" | "answers">;

/**
 * Returns the text that most recipients read: the words of the HTML if there is any, else the plain text. Quotations of the answered
 * message are separated.
 */
function readingOf({ html, text }: DraftLetter, { content, answers }: ReadContext): FoldedText {
  if (html !== null) return foldQuote(html.asText, { signature: html.signatureAsText, answers });
  return foldQuote(visible(text), { signature: content.signature_text ?? "", answers });
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

/** Compares files by name, type and bytes: another file under the same name counts as a change. */
function fileChanges(before: DraftContent, after: DraftContent): Changes["fields"][number] {
  const lost = (all: DraftContent["attachments"], others: DraftContent["attachments"], which: string) =>
    all.flatMap((file) => {
      const namesakes = others.filter(({ filename }) => filename === file.filename);
      const same = namesakes.filter(({ sha256 }) => sha256 === file.sha256);
      if (same.some((other) => other.content_type === file.content_type)) return [];
      if (same.length > 0) return [`${file.filename} (declared as ${file.content_type})`];
      return [namesakes.length > 0 ? `${file.filename} (${which} contents)` : file.filename];
    });
  return {
    label: "Attached",
    removed: lost(before.attachments, after.attachments, "earlier"),
    added: lost(after.attachments, before.attachments, "new"),
  };
}

/** Returns null if too much of the text changed. */
function diffOf(before: string, after: string): ChangePiece[] | null {
  const options = { maxEditLength: most.edits };
  const parts =
    Math.max(before.length, after.length) > most.words
      ? diffLines(before, after, options)
      : diffWordsWithSpace(before, after, options);
  if (!parts) return null;
  const pieces = inRuns(parts);
  return pieces.map(({ kind, text }, index): ChangePiece => {
    const place = { isFirst: index === 0, isLast: index === pieces.length - 1 };
    return { kind, text: kind === "same" ? nearby(text, place) : text };
  });
}

/**
 * Merges a word or two that stayed the same between changes of a line into them, for reading: first all that was removed, then all that
 * was added.
 */
function inRuns(parts: readonly { value: string; added: boolean; removed: boolean }[]): ChangePiece[] {
  const pieces: ChangePiece[] = [];
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

/** Returns the ends of an unchanged part that are next to a change. */
function nearby(text: string, { isFirst, isLast }: { isFirst: boolean; isLast: boolean }): string {
  const start = isFirst ? "" : cutText(text, most.context);
  const end = isLast ? "" : text.slice(cutText(text, text.length - most.context).length);
  return text.length <= start.length + end.length + 1 ? text : `${start}…${end}`;
}
