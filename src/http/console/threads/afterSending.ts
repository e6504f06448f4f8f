import { counted } from "#src/html/counted.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import type { WireMessage } from "../../present/messages.ts";
import type { ThreadReader } from "./threadWords.ts";

/** The fate of a mail of ours: reports about its recipients, and reactions. */

type Recipient = WireMessage["recipients"][number];
type Reaction = WireMessage["reactions"][number];

/** Maximum number of recipients and of reactions shown; the rest is counted. */
const mostShown = 50;
/** Maximum number of characters shown of a sign, and of different signs on a folded message. */
const signLength = 16;
const mostSigns = 5;

const recipientWords: Record<Recipient["status"], string> = {
  sent: "sent",
  delivered: "delivered",
  delayed: "not delivered yet: the server tries again",
  bounced: "could not be delivered",
  complained: "reported it as spam",
  failed: "will not be delivered",
};

/** True if a report names this recipient, and says more than that the mail arrived. */
const isNews = ({ status, at }: Recipient): boolean => status !== "sent" && status !== "delivered" && at !== null;

/** Reports about single recipients, with their servers' words; nothing if the mail arrived or nothing is known. */
export function recipientsPart(recipients: readonly Recipient[], reader: ThreadReader): Markup | false {
  const news = recipients.filter(isNews);
  if (news.length === 0) return false;
  const others = recipients.length - news.length;
  return html`<h4>Delivery problems with ${news.length} of ${counted(recipients.length, "recipient")}</h4>
<ul>${news.slice(0, mostShown).map((recipient) => item(recipient, reader))}${news.length > mostShown && html`<li>and ${counted(news.length - mostShown, "other")}</li>`}</ul>
${others > 0 && html`<p class="meta">No problem reported for the other ${others === 1 ? "one" : others}.</p>`}`;
}

const item = ({ address, status, code, text, at }: Recipient, reader: ThreadReader): Markup =>
  html`<li><bdi lang="">${shortLine(address, 320)}</bdi>: ${recipientWords[status]}${code !== null && html` (<bdi lang="">${shortLine(code, 40)}</bdi>)`}${at !== null && html`, ${when(reader, at)}`}${text !== null && html`. The server said: “<bdi lang="">${shortLine(text, 500)}</bdi>”`}</li>`;

/** The different signs of reactions, for a folded message. */
export function signsOf(reactions: readonly Reaction[]): Markup {
  const signs = [...new Set(reactions.map(({ emoji }) => shortLine(emoji, signLength)))];
  return html`<span class="unseen">Reactions: </span><bdi lang="">${signs.slice(0, mostSigns).join(" ")}${signs.length > mostSigns && " …"}</bdi>`;
}

/** Reactions to the mail, newest first: the sign, who put it there, and when. */
export const reactionsPart = (reactions: readonly Reaction[], reader: ThreadReader): Markup | false =>
  reactions.length > 0 &&
  html`<h4>${counted(reactions.length, "reaction")}</h4>
<ul>${reactions
    .slice(-mostShown)
    .reverse()
    .map(
      ({ emoji, from, at }) =>
        html`<li><bdi lang="">${shortLine(emoji, signLength)}</bdi> <bdi lang="">${shortLine(from, 320) || "(no sender)"}</bdi>, ${when(reader, at)}</li>`,
    )}${reactions.length > mostShown && html`<li>and ${counted(reactions.length - mostShown, "earlier one")}</li>`}</ul>
`;
