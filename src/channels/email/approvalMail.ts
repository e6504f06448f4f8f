import { readableTime } from "#src/html/times.ts";
import { shortLine, visibleLine } from "#src/html/visible.ts";
import { type AnsweredMessage, type ApprovalView, approveLabel } from "../approvalView.ts";
import { approvalWarnings } from "../approvalWarnings.ts";
import { type HeadField, type Letter, letterOf } from "../letter.ts";
import { type Excerpt, excerpt, unlinked } from "./excerpt.ts";

/** What the approval mail says, before it is made text or HTML. Every text is safe to look at; none is escaped yet. */
export type ApprovalMail = {
  subject: string;
  title: string;
  lead: string;
  /** What the page asks for beside the press, and the sentence about it; far from the links, in no address. */
  code: { digits: string; sentence: string } | null;
  warnings: string[];
  head: HeadField[];
  /** The letter; it has a second part if its two versions say different things. */
  parts: { label: string; text: Excerpt }[];
  rationale: Excerpt | null;
  newer: Said | null;
  answers: (Said & { verified: string; quoted: string | undefined; attachments: string[] }) | null;
  approve: { label: string; url: string };
  reject: { label: string; url: string };
  facts: string[];
};

type Said = { from: string; subject: string; at: string; text: Excerpt };

/** The two links of the mail, each with its own token. */
export type ApprovalLinks = { approve: string; reject: string };

const limits = { letter: 6000, rationale: 1500, message: 3000, subject: 120 };

export function approvalMail(view: ApprovalView, links: ApprovalLinks, confirmCode: string | null): ApprovalMail {
  const letter = letterOf(view.content, view);
  const to = view.content.to.map(visibleLine).join(", ");
  const label = approveLabel(view);
  return {
    subject: shortLine(
      `${label}? ${view.answers ? "Reply" : "Mail"} to ${to}: ${visibleLine(view.content.subject)}`,
      limits.subject,
    ),
    title: view.answers ? "Send this reply?" : "Send this mail?",
    lead: `An agent wrote this ${view.answers ? "reply" : "mail"} for ${shortLine(view.identity.displayName, 100)}. Nothing is sent before you decide.`,
    code: confirmCode === null ? null : { digits: confirmCode, sentence: codeSentence },
    warnings: approvalWarnings(view, letter, unlinked),
    head: letter.head,
    parts: partsOf(letter),
    rationale: view.rationale ? said(view.rationale, limits.rationale) : null,
    newer: view.newerMessage && {
      ...heading(view.newerMessage),
      text: said(view.newerMessage.newText ?? "(the text cannot be shown yet)", limits.message),
    },
    answers: view.answers && answered(view.answers),
    approve: { label, url: links.approve },
    reject: { label: "Reject", url: links.reject },
    facts: factsOf(view),
  };
}

const codeSentence = "The page that the links open asks you for this code. We never ask for it anywhere else.";

/** What recipients will read comes first: the HTML's words if there is HTML. */
function partsOf({ text, html, difference }: Letter): ApprovalMail["parts"] {
  const plain = said(text, limits.letter);
  if (html === null) return [{ label: "The text", text: plain }];
  if (html === "unreadable") return [{ label: "The plain text (its HTML cannot be shown)", text: plain }];
  const shown = { label: "The text (from its HTML)", text: said(html.asText, limits.letter) };
  return difference ? [shown, { label: "The plain text, which differs", text: plain }] : [shown];
}

function answered(message: AnsweredMessage): NonNullable<ApprovalMail["answers"]> {
  const lines = message.quotedText.trim() ? message.quotedText.trim().split("\n").length : 0;
  return {
    ...heading(message),
    text: said(message.newText, limits.message),
    verified: verification(message),
    quoted: lines > 0 ? `(${lines} quoted ${lines === 1 ? "line" : "lines"} left out; see the review page)` : undefined,
    attachments: message.attachments.map(visibleLine),
  };
}

/** Whether the sender is who the message says, in a phrase. */
export function verification({ authentication }: Pick<AnsweredMessage, "authentication">): string {
  if (authentication === null) return "sender not checked yet";
  return authentication.aligned ? "sender verified" : "sender NOT verified";
}

const heading = (message: { fromName: string | null; fromEmail: string; subject: string; receivedAt: string }) => ({
  from: message.fromName
    ? `${visibleLine(message.fromName)} <${visibleLine(message.fromEmail)}>`
    : visibleLine(message.fromEmail),
  subject: visibleLine(message.subject),
  at: readableTime(message.receivedAt),
});

const factsOf = (view: ApprovalView): string[] => [
  `Version ${view.version}, content ${view.contentSha256.slice(0, 12)}. The links work until ${readableTime(view.expiresAt)} and only for this version.`,
  "Opening a link changes nothing. It shows the whole draft, and you decide with a button there.",
  "Anyone who has this mail can decide. Forwarding it gives away the right to decide.",
];

const said = (text: string, max: number): Excerpt => {
  const cut = excerpt(text, max);
  return { ...cut, shown: unlinked(cut.shown) };
};
