import type { ReviewCard } from "../card/reviewCard.ts";
import type { ChannelRequest } from "../channel.ts";
import {
  allNeutral,
  type Block,
  type Button,
  chunks,
  escaped,
  label,
  markdown,
  neutral,
  note,
  plain,
  sections,
} from "./blocks.ts";
import { type CardPiece, cardPieces, factsPiece } from "./cardPieces.ts";

/** One message in Slack's form, for a webhook or chat.postMessage. */
export type SlackMessage = {
  text: string;
  blocks: Block[];
  parse: "none";
  link_names: false;
  unfurl_links: false;
  unfurl_media: false;
};

/**
 * The way of deciding. "pressed": buttons that Slack reports to us, with a form for the reason; "approved": the same, but rejecting leads
 * to the page; "linked": both lead to the page.
 */
export type Deciding = "pressed" | "approved" | "linked";

/** Slack accepts 50 blocks; a message is returned with each press of its buttons, so it stays small. */
const most = { blocks: 40, characters: 12_000 };

/** Ids of the buttons. Those that end in `_page` only open a page. */
export const actions = {
  approve: "approve",
  reject: "reject",
  requestChanges: "request_changes",
  edit: "edit",
  editPage: "edit_page",
  requestChangesPage: "request_changes_page",
  approvePage: "approve_page",
  rejectPage: "reject_page",
  reviewPage: "review_page",
} as const;

/** Splits the card into the messages of a chat, in order: the buttons are below the last one. */
export function slackMessages(card: ReviewCard, { isForNamed = false, edit = null, ...given }: Foot): SlackMessage[] {
  const shown = allNeutral(card);
  const pages = pagesOf([...cardPieces(shown), ...foot(shown, { ...given, isForNamed, edit })]);
  return pages.map((pieces, index) => {
    const isLast = index === pages.length - 1;
    const pieceOf = (text: string): CardPiece => ({ blocks: [note(text)], text: escaped(text) });
    const place = index > 0 ? [pieceOf(`Part ${index + 1} of ${pages.length}`)] : [];
    const onward = isLast ? [] : [pieceOf("Continued in the next message. The buttons are under the last one.")];
    return messageOf([...place, ...pieces, ...onward]);
  });
}

/** Replaces a question after its decision. `sentence` and `threadSubject` may quote others. */
export const concludedMessage = ({ sentence, threadSubject }: { sentence: string; threadSubject: string }) => {
  const subject = `Subject: ${neutral(threadSubject) || "(no subject)"}`;
  return messageOf([
    { blocks: sections(neutral(sentence)), text: escaped(neutral(sentence)) },
    { blocks: [note(chunks(subject, 300)[0] ?? "")], text: escaped(subject) },
  ]);
};

/** Makes a message without a question. Its lines may quote other people's text. */
export function noticeMessage(lines: readonly string[]): SlackMessage {
  const text = neutral(lines.join("\n"));
  return messageOf([{ blocks: sections(text), text: escaped(text) }]);
}

const messageOf = (pieces: CardPiece[]): SlackMessage => ({
  text: pieces.map(({ text }) => text).join("\n\n"),
  blocks: pieces.flatMap(({ blocks }) => blocks),
  parse: "none",
  link_names: false,
  unfurl_links: false,
  unfurl_media: false,
});

/** Groups the pieces into messages of acceptable size. A piece that is too large is divided among several messages. */
function pagesOf(pieces: CardPiece[]): CardPiece[][] {
  const pages: CardPiece[][] = [[]];
  let used = { blocks: 0, characters: 0 };
  for (const piece of pieces.flatMap(divided)) {
    const blocks = used.blocks + piece.blocks.length;
    const characters = used.characters + piece.text.length;
    const isFull = blocks > most.blocks || characters > most.characters;
    if (isFull) pages.push([]);
    used = isFull ? { blocks: piece.blocks.length, characters: piece.text.length } : { blocks, characters };
    pages.at(-1)?.push(piece);
  }
  return pages;
}

/** Divides a piece with too much for one message into its blocks, each with the part of the text that it shows. */
function divided(piece: CardPiece): CardPiece[] {
  if (piece.text.length <= most.characters / 2) return [piece];
  return piece.blocks.map((block) => ({ blocks: [block], text: textOf(block) }));
}

const textOf = (block: Block): string =>
  block.type === "section" || block.type === "header" ? block.text.text : block.type === "divider" ? "---" : "";

/**
 * `isForNamed`: only the channel's allowed users may decide; pages decide nothing then. `edit`: where approvers can edit the draft; null:
 * nowhere.
 */
type Foot = Pick<ChannelRequest, "links" | "tokens"> & {
  deciding: Deciding;
  isForNamed?: boolean;
  edit?: "chat" | "page" | null;
};

function foot(card: ReviewCard, { links, tokens, deciding, isForNamed, edit }: Foot): CardPiece[] {
  const both = `${link(links.approve, card.approve)}  or  ${link(links.reject, "Reject")}`;
  const shown: Block[] = deciding === "linked" ? [{ type: "section", text: markdown(both) }] : [];
  const elements = buttons(card, { links, tokens, deciding, edit: isForNamed && edit === "page" ? null : edit });
  const whoDecides =
    deciding === "linked"
      ? "Anyone who has these links can decide. Opening one decides nothing: it shows the whole draft, and you decide with a button there."
      : isForNamed
        ? "Only the users listed in allowed_users can decide, with these buttons. The page shows the draft and decides nothing."
        : "Anyone in this channel can decide.";
  return [
    {
      blocks: [label("Your decision"), ...shown, { type: "actions", block_id: "decision", elements }],
      // Complete, for programs without buttons.
      text: `YOUR DECISION\n${both}`,
    },
    factsPiece(card, whoDecides),
  ];
}

function buttons({ approve: name }: ReviewCard, { links, tokens, deciding, edit }: Foot): Button[] {
  const approve = { text: words(name), style: "primary" } as const;
  const reject = { text: words("Reject"), style: "danger" } as const;
  const changes = words("Ask for changes");
  const changesUrl = `${links.approve}#changes-form`;
  const editPage = { type: "button", action_id: actions.editPage, text: words("Edit"), url: links.approve } as const;
  if (deciding === "linked") {
    return [
      { type: "button", action_id: actions.approvePage, ...approve, url: links.approve },
      ...(edit ? [editPage] : []),
      { type: "button", action_id: actions.requestChangesPage, text: changes, url: changesUrl },
      { type: "button", action_id: actions.rejectPage, ...reject, url: links.reject },
    ];
  }
  const editHere = { type: "button", action_id: actions.edit, text: words("Edit"), value: tokens.approve } as const;
  const isHere = edit === "chat" && deciding === "pressed";
  const editButton: Button[] = edit ? [isHere ? editHere : { ...editPage, value: tokens.approve }] : [];
  // Slack reports presses of link buttons too. By their token we know whose secret has signed them.
  return [
    { type: "button", action_id: actions.approve, ...approve, value: tokens.approve },
    ...editButton,
    deciding === "pressed"
      ? { type: "button", action_id: actions.requestChanges, text: changes, value: tokens.reject }
      : { type: "button", action_id: actions.requestChangesPage, text: changes, value: tokens.reject, url: changesUrl },
    deciding === "pressed"
      ? { type: "button", action_id: actions.reject, ...reject, value: tokens.reject }
      : { type: "button", action_id: actions.rejectPage, ...reject, value: tokens.reject, url: links.reject },
    {
      type: "button",
      action_id: actions.reviewPage,
      text: words("Review page"),
      value: tokens.approve,
      url: links.approve,
    },
  ];
}

/** Our own text on a button: Slack shows a lone `&` there unescaped. */
const words = (text: string) => ({ ...plain(text), text });

/** Makes a link to our own site in Slack's markup. */
export const link = (url: string, name: string): string => `<${escaped(url)}|${escaped(name)}>`;
