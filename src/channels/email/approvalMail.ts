import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { CardField, FieldValue } from "../card/fields.ts";
import type { Link } from "../card/links.ts";
import type { FoldedText } from "../card/quotes.ts";
import type { CardLetter, ReviewCard, ShownMessage } from "../card/reviewCard.ts";
import { allUnlinked, type CutText, excerpt } from "./excerpt.ts";

/** Content of the approval mail, before it is rendered as text or HTML. Every text is safe to display; none is escaped yet. */
export type ApprovalMail = {
  subject: string;
  title: string;
  lead: string;
  escalation: string | null;
  /** Code that the page asks for in addition, and the sentence about it; far from the links, and in no URL. */
  code: { digits: string; sentence: string } | null;
  warnings: string[];
  hints: string[];
  newer: MailedMessage | null;
  changes: MailedChanges | null;
  fields: CardField[];
  /** The draft's text; a second part if its two forms say different things. */
  parts: { label: string; text: CutText; folded: string | null }[];
  /** Further facts about the draft: a sentence or a short list each. */
  notes: { label: string; values: string[] }[];
  approve: { label: string; url: string };
  reject: { label: string; url: string };
  /** Opens the form to ask for changes on the page of the link to approve. */
  askForChanges: { label: string; url: string };
  /** Opens the form to edit the draft on that page; null if approvers may not edit it there. */
  edit: { label: string; url: string } | null;
  rationale: CutText | null;
  answers: (MailedMessage & { proof: string; folded: string | null; attachments: string[] }) | null;
  facts: string[];
};

type MailedMessage = { from: FieldValue; subject: string; at: string; text: CutText };

type MailedChanges = {
  title: string;
  sentences: string[];
  pieces: { kind: "same" | "added" | "removed"; text: string }[];
  left: string | null;
};

/** The two links of the mail, each with its own token. */
export type ApprovalLinks = { approve: string; reject: string };

/** Maximum number of characters and lines of each part; a phone shows the buttons after a few screens. The page shows everything. */
const limits = {
  letter: 2000,
  rationale: 1500,
  message: 2000,
  changes: 1200,
  lines: 40,
  subject: 120,
  links: 6,
  removed: 6,
};

/** Renders the card as a mail: long texts are cut, and mail programs can make links only of our own. */
export function approvalMail(card: ReviewCard, links: ApprovalLinks, confirmCode: string | null): ApprovalMail {
  const { letter } = card;
  return {
    ...allUnlinked({
      title: card.question,
      lead: card.lead,
      escalation: card.escalation?.sentence ?? null,
      warnings: card.warnings,
      hints: card.hints,
      newer: card.newer && message(card.newer),
      changes: card.changes && changesOf(card.changes),
      fields: [...letter.fields, ...attached(letter)],
      parts: partsOf(letter),
      notes: notesOf(letter),
      rationale: card.rationale === null ? null : excerpt(card.rationale, limits.rationale, limits.lines),
      answers: card.answers && {
        ...message(card.answers),
        proof: card.answers.proof.phrase,
        folded: foldedNote(card.answers),
        attachments: card.answers.attachments.map(({ name, description, warning }) =>
          [`${name} (${description})`, warning].filter(Boolean).join(". "),
        ),
      },
      facts: factsOf(card),
    }),
    subject: shortLine(`${card.approve} this ${card.noun}? ${card.threadSubject || "(no subject)"}`, limits.subject),
    code: confirmCode === null ? null : { digits: confirmCode, sentence: codeSentence },
    approve: { label: card.approve, url: links.approve },
    askForChanges: { label: "Ask for changes", url: `${links.approve}#changes-form` },
    edit:
      card.editByChannel && !card.namedOnly && confirmCode !== null
        ? { label: "Edit", url: `${links.approve}#edit-form` }
        : null,
    reject: { label: "Reject", url: links.reject },
  };
}

const codeSentence = "The page that the links open asks you for this code. We never ask for it anywhere else.";

const attached = ({ attachments }: CardLetter): CardField[] =>
  attachments.length === 0
    ? []
    : [
        {
          label: "Attached",
          values: attachments.map(({ name, description, warning }) => ({
            name: null,
            text: `${name} (${description})`,
            mark: warning,
          })),
        },
      ];

/** First what recipients will read: the HTML's words if there is HTML. */
function partsOf({ plain, formatted, differs }: CardLetter): ApprovalMail["parts"] {
  const part = (label: string, writing: FoldedText) => ({
    label,
    text: excerpt(writing.text, limits.letter, limits.lines),
    folded: foldedNote(writing),
  });
  if (formatted === null) return [part("The text", plain)];
  const shown = part("The text (from its HTML)", formatted);
  return differs ? [shown, part("The plain text, which differs", plain)] : [shown];
}

function notesOf({ links, removed }: CardLetter): ApprovalMail["notes"] {
  return [
    { label: "Links in it", values: short(links.map(linkInWords), limits.links) },
    {
      label: "Removed from its HTML when it was submitted",
      values: removed.length > 0 ? [short(removed, limits.removed).join("; ")] : [],
    },
  ].filter(({ values }) => values.length > 0);
}

const linkInWords = ({ text, target }: Link): string =>
  text === null ? target : `“${shortLine(text, 80)}” → ${target}`;

const short = (values: string[], max: number): string[] =>
  values.length <= max ? values : [...values.slice(0, max), `and ${values.length - max} more; see the review page`];

function changesOf({ since, sentences, fields, text }: NonNullable<ReviewCard["changes"]>): MailedChanges {
  const fieldSentences = fields.flatMap(({ label, removed, added }) => [
    ...removed.map((value) => `${label}, removed: ${value}`),
    ...added.map((value) => `${label}, added: ${value}`),
  ]);
  let left = limits.changes;
  const pieces = text.filter((piece) => {
    const fits = left >= piece.text.length;
    left = fits ? left - piece.text.length : 0;
    return fits;
  });
  return {
    title: `What changed since version ${since}`,
    sentences: [...sentences, ...fieldSentences],
    pieces,
    left: pieces.length < text.length ? "There are more changes; see the review page." : null,
  };
}

const message = ({ fromName, fromEmail, subject, receivedAt, text }: ShownMessage): MailedMessage => ({
  from: { name: fromName, text: fromEmail, mark: null },
  subject,
  at: readableTime(receivedAt),
  text: excerpt(text, limits.message, limits.lines),
});

function foldedNote({ folded }: FoldedText): string | null {
  if (folded === "") return null;
  const lines = folded.split("\n").length;
  return `(${lines} quoted ${lines === 1 ? "line" : "lines"} left out; see the review page)`;
}

const factsOf = (card: ReviewCard): string[] => [
  `Version ${card.version}, content ${card.contentSha256.slice(0, 12)}. The links work until ${readableTime(card.expiresAt)} and only for this version.`,
  "Opening a link decides nothing: it shows the whole draft, and you decide with a button there. You cannot decide by replying to this mail.",
  card.namedOnly
    ? "The links ask you to sign in. Only members of the workspace can decide."
    : "Anyone who has this mail can decide. Forwarding it gives away the right to decide.",
];
