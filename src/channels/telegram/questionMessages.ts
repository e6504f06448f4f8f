import { readableTime } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { ApproverDecision } from "../approvalView.ts";
import type { ReviewCard } from "../card/reviewCard.ts";
import { buttonData } from "./buttons.ts";
import { cardSpans } from "./cardSpans.ts";
import { unlinkedInChat as inert } from "./inert.ts";
import { inMessages, type Keyboard, type Styled, type StyledSpan, styled } from "./styled.ts";

/**
 * Maximum number of messages per question, because Telegram accepts about twenty a minute in a group. The limit is higher if there is no
 * page to read on.
 */
const mostParts = { withPage: 6, alone: 14 };

export type QuestionInput = {
  card: ReviewCard;
  tokens: Record<ApproverDecision, string>;
  /** The approval page; null if visitors of the page may not decide. */
  link: string | null;
  /** Only these users, by id, may decide; null: everyone in the chat. */
  allowedUsers: readonly string[] | null;
  /** Place in which approvers can edit the draft; null or absent: none. */
  edit?: "chat" | "page" | null;
};

/**
 * Splits the card into as many messages as needed, followed by the question with its buttons as a message of its own: a decision changes
 * only that one, so the text that was decided about stays readable above it.
 */
export function questionMessages(asked: QuestionInput): { parts: Styled[]; question: Styled; keyboard: Keyboard } {
  const { messages, left } = inMessages(cardSpans(asked.card), {
    most: asked.link === null ? mostParts.alone : mostParts.withPage,
  });
  return { parts: messages.map(styled), question: styled(question(asked, left)), keyboard: keyboard(asked) };
}

function question({ card, link, allowedUsers }: QuestionInput, left: number): StyledSpan[] {
  const rest = link === null ? "Ask the people who run the agent for the rest" : "Read the rest on the page";
  const notShown = `⚠️ ${left.toLocaleString("en")} more characters are not shown here. ${rest} before you decide.`;
  const people = "Every member of this chat can decide.";
  const sentences = [
    ...(left > 0 ? [notShown] : []),
    ...(card.warnings.length > 0
      ? [`⚠️ ${card.warnings.length === 1 ? "1 warning" : `${card.warnings.length} warnings`} above.`]
      : []),
    `Version ${card.version}, content ${card.contentSha256.slice(0, 12)}. The buttons work until ${readableTime(card.expiresAt)} and only for this version.`,
    ...(card.approvals === null ? [] : [inert(card.approvals)]),
    ...(card.escalation ? [card.escalation.sentence] : []),
    allowedUsers === null ? people : "Only the users listed in allowed_users can decide.",
  ];
  return [
    { text: card.question, style: "bold" },
    { text: `\n${inert(shortLine(card.threadSubject, 200)) || "(no subject)"}\n\n${sentences.join("\n")}` },
    ...(link === null ? [] : pageLink(link)),
  ];
}

const pageLink = (link: string): StyledSpan[] =>
  isTappable(link)
    ? [{ text: "\n\n" }, { text: "Everything on one page", link }]
    : [{ text: `\n\nEverything on one page: ${link}` }];

/** The button to edit the draft in the chat, or on the page if it has to be edited there and the page can be opened. */
function editButton({ tokens, link, edit }: Pick<QuestionInput, "tokens" | "link" | "edit">): Keyboard[number] {
  if (edit === "chat") return [{ text: "Edit", callback_data: buttonData("edit", tokens.approve) }];
  return edit === "page" && link !== null && isTappable(link) ? [{ text: "Edit", url: link }] : [];
}

const keyboard = ({ card, tokens, link, edit = null }: QuestionInput): Keyboard => [
  [
    { text: card.approve, callback_data: buttonData("approve", tokens.approve) },
    { text: "Reject", callback_data: buttonData("reject", tokens.reject) },
  ],
  [
    ...editButton({ tokens, link, edit }),
    { text: "Ask for changes", callback_data: buttonData("request_changes", tokens.reject) },
  ],
  ...(link !== null && isTappable(link) ? [[{ text: "Open the page", url: link }]] : []),
];

/** Telegram rejects private addresses in buttons and links, and refuses a message with such a button. */
function isTappable(link: string): boolean {
  const { protocol, hostname } = new URL(link);
  return (
    protocol === "https:" && /\.[a-z]{2,}$/i.test(hostname) && !/\.(localhost|local|internal|test)$/i.test(hostname)
  );
}
