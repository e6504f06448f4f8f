import { pageHtml } from "#src/html/letter/pageHtml.ts";
import { visible, visibleLine } from "#src/html/visible.ts";
import { type AnsweredMessage, type ApprovalView, approveLabel, type NewerMessage } from "../approvalView.ts";
import { type ApprovalWarning, approvalWarnings } from "../approvalWarnings.ts";
import { type DraftLetter, letterOf } from "../letter.ts";
import { approvalsInWords } from "./approvalsSoFar.ts";
import { askedAgainInWords } from "./askedAgain.ts";
import { type Attachment, attachmentsShown } from "./attachments.ts";
import { beforeSending } from "./beforeSending.ts";
import { type Changes, changesSince } from "./changes.ts";
import { type Escalation, escalationOf } from "./escalation.ts";
import { type CardField, fieldsOf } from "./fields.ts";
import { type Link, linksOf } from "./links.ts";
import { named } from "./names.ts";
import { type FoldedText, foldedQuotation, foldQuote } from "./quotes.ts";
import { removedInWords } from "./removed.ts";
import { proofOf, type SenderProof } from "./senderProof.ts";

/** A message of the conversation, for display. */
export type ShownMessage = FoldedText & {
  fromName: string | null;
  fromEmail: string;
  subject: string;
  receivedAt: string;
};

/** The text that recipients would read. */
export type CardLetter = {
  fields: CardField[];
  /** The form that programs without HTML show. */
  plain: FoldedText;
  /** The form that programs with HTML show, as text and as HTML for a frame of our pages; null if the draft has none. */
  formatted: (FoldedText & { pageHtml: string }) | null;
  /** The two forms say different things: both have to be read. */
  differs: boolean;
  links: Link[];
  attachments: Attachment[];
  /** Elements removed from its HTML, in words. */
  removed: string[];
  /** Hashes and Message-IDs, for those who verify them. */
  technical: { label: string; values: string[] }[];
};

/**
 * Everything that an approver is shown about one version of a draft, for any channel: each fact once, in plain words or quoted from its
 * author. Every text is safe to display (no invisible or direction-changing characters); none is escaped for any markup. Times are ISO
 * strings.
 */
export type ReviewCard = {
  noun: "reply" | "mail";
  question: string;
  /** Sentence saying who wrote it for whom, and what has to happen before it is sent. */
  lead: string;
  approve: string;
  /** Approvals given so far, in words, if several approvals are required; null if one is enough. */
  approvals: string | null;
  /** Approvers may edit the draft where its card is. */
  editByChannel: boolean;
  /** Links lead to the sign-in: only members decide by them. */
  namedOnly: boolean;
  /** The conversation's own subject. */
  threadSubject: string;
  /** Warnings, the most important first. */
  warnings: string[];
  /** The same warnings, with the part of the card that each is about. */
  placedWarnings: ApprovalWarning[];
  /** Possibly mistaken remarks about the answered message. */
  hints: string[];
  newer: ShownMessage | null;
  changes: Changes | null;
  letter: CardLetter;
  rationale: string | null;
  answers: (ShownMessage & { proof: SenderProof; attachments: Attachment[] }) | null;
  escalation: Escalation | null;
  version: number;
  /** Hex. */
  contentSha256: string;
  expiresAt: string;
};

export function reviewCard(view: ApprovalView): ReviewCard {
  const letter = letterOf(view.content, view);
  const noun = view.answers ? "reply" : "mail";
  const links = linksOf(letter);
  const placedWarnings = approvalWarnings(view, letter, links);
  return {
    noun,
    question: `${view.sendsOnApproval ? "Send" : "Approve"} this ${noun}?`,
    lead: `${askedAgainInWords(view)} An agent wrote this ${noun} for ${named(view.identity.displayName)} (${visibleLine(view.identity.address)}). ${beforeSending(view)}`.trimStart(),
    approvals: view.approvals ? approvalsInWords(view.approvals) : null,
    editByChannel: view.editByChannel,
    namedOnly: view.namedOnly,
    approve: approveLabel(view),
    threadSubject: visibleLine(view.threadSubject),
    warnings: placedWarnings.map(({ sentence }) => sentence),
    placedWarnings,
    hints: view.hints.map(({ sentence }) => visibleLine(sentence)),
    newer: view.newerMessage && messageSaid(view.newerMessage),
    changes: changesSince(view, letter),
    letter: cardLetter(view, letter, links),
    rationale: view.rationale ? visible(view.rationale).trim() : null,
    answers: view.answers && answered(view.answers),
    escalation: escalationOf(view),
    version: view.version,
    contentSha256: view.contentSha256,
    expiresAt: view.expiresAt,
  };
}

function cardLetter(view: ApprovalView, letter: DraftLetter, links: Link[]): CardLetter {
  return {
    fields: fieldsOf(view),
    ...newTexts(letter, view),
    differs: letter.difference !== null,
    links,
    attachments: attachmentsShown(view.attachments),
    removed: removedInWords(view.htmlRemoved),
    technical: technicalOf(view),
  };
}

function newTexts({ text, html }: DraftLetter, { content, answers, pictures }: ApprovalView) {
  const plain = foldQuote(visible(text), { signature: content.signature_text ?? "", answers });
  if (html === null) return { plain, formatted: null };
  const writing = foldQuote(html.asText, { signature: html.signatureAsText, answers });
  const folded = foldedQuotation(html.pieces, writing.folded);
  return { plain, formatted: { ...writing, pageHtml: pageHtml(html.pieces, { pictures, folded }) } };
}

const technicalOf = ({ version, contentSha256, content }: ApprovalView): CardLetter["technical"] =>
  [
    { label: "Version", values: [String(version)] },
    { label: "Content hash", values: [contentSha256] },
    { label: "In reply to", values: [content.in_reply_to ?? "nothing"] },
    { label: "References", values: content.references.length > 0 ? content.references : ["none"] },
    ...content.attachments.map(({ filename, sha256 }) => ({ label: filename, values: [sha256] })),
  ].map(({ label, values }) => ({ label: visibleLine(label), values: values.map(visibleLine) }));

const answered = (message: AnsweredMessage): NonNullable<ReviewCard["answers"]> => ({
  ...said(message, message.newText, message.quotedText),
  proof: proofOf(message.authentication),
  attachments: attachmentsShown(message.attachments),
});

/** Prepares a message received after the answered one for display. */
export const messageSaid = (newer: NewerMessage): ShownMessage =>
  said(newer, newer.newText ?? "(The text cannot be shown yet.)", "");

const said = (
  { fromName, fromEmail, subject, receivedAt }: NewerMessage | AnsweredMessage,
  text: string,
  rest: string,
): ShownMessage => ({
  fromName: fromName ? visibleLine(fromName) : null,
  fromEmail: visibleLine(fromEmail),
  subject: visibleLine(subject) || "(no subject)",
  receivedAt,
  text: visible(text).trim(),
  folded: visible(rest).trim(),
});
