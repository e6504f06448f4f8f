import { counted } from "#src/html/counted.ts";
import { button, choice, errorAt, form } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { isWord } from "#streams/inbox/mailKinds.ts";
import type { WireThread } from "../../present/threads.ts";
import type { PageContext } from "../framework/pageContext.ts";
import { type PageLinks, pages } from "../framework/pageLinks.ts";
import { draftArticle, heldArticle } from "./draftArticle.ts";
import { messageArticle } from "./messageArticle.ts";
import { type ReplyView, replySection } from "./replyForm.ts";
import { badge, person, priorityWords, statusWords, subjectLine, type ThreadReader } from "./threadWords.ts";
import type { TimelineEntry } from "./timeline.ts";
import type { UnansweredReason } from "./whyUnanswered.ts";

export type ThreadView = {
  thread: WireThread;
  identity:
    | { id: string; display_name: string; email_address: string; status: "active" | "disabled" | "deleted" }
    | undefined;
  /** Why no reply was sent; undefined if one was, and on pages of older messages. */
  why: UnansweredReason | undefined;
  entries: readonly TimelineEntry[];
  ways: PageLinks;
  /** True if there are more drafts than the newest ones shown. */
  hasMoreDrafts: boolean;
  neighbours: { newer: string | null; older: string | null };
  /** Null for people who may not write. */
  reply: ReplyView | null;
  mayChange: boolean;
  /** Why a change of status, priority or review was refused. */
  refused: { message: string; field?: string | undefined } | undefined;
  /** URL of this page, for refreshing it. */
  path: string;
  addressFor(wish: "open" | "html" | "whole", messageId: string): string;
};

/** `userId`: the person's, because they may undo their own approvals. */
export type PageReader = ThreadReader & { formToken: string; userId: string };

export const readerOf = ({
  zone,
  formToken,
  principal,
}: Pick<PageContext, "zone" | "formToken" | "principal">): PageReader => ({
  ...{ zone, formToken },
  userId: principal.user.id,
});

/** A conversation: why it is unanswered, its messages, and the reply form. */
export const threadPage = (view: ThreadView, reader: PageReader): Markup => html`${places(view)}
<h1><bdi lang="">${subjectLine(view.thread.subject, 200)}</bdi></h1>
${about(view)}
${view.mayChange && changeForm(view, reader)}
${conversation(view, reader)}
${view.reply && replySection(view.reply, reader)}`;

function places({ neighbours: { newer, older } }: ThreadView): Markup {
  return html`<nav class="pages" aria-label="Conversations"><a class="press" href="/threads">All conversations</a> ${newer !== null && html`<a class="press" href="/threads/${newer}" rel="prev">Newer conversation</a> `}${older !== null && html`<a class="press" href="/threads/${older}" rel="next">Older conversation</a>`}</nav>`;
}

function about({ thread, identity }: ThreadView): Markup {
  const { status, needs_review, priority, message_count, merged_into } = thread;
  return html`<p class="facts"><span class="status ${status}">${statusWords[status]}</span>${needs_review && badge("Needs review", "notice")}${priority !== "normal" && badge(priorityWords[priority], priority === "low" ? "plain" : "notice")} <span class="meta">${counted(message_count, "message")}</span></p>
${identity && html`<p class="meta">With ${person(identity.display_name, identity.email_address)}${identity.status !== "active" && html` <strong class="mark">${identity.status === "deleted" ? "deleted identity" : "disabled identity"}</strong>`}</p>`}
${merged_into !== null && html`<div class="card alert"><p>This conversation was merged into another one. This page shows the messages of both: <a href="/threads/${merged_into}">go to the merged conversation</a>.</p></div>`}`;
}

const changeForm = ({ thread, refused }: ThreadView, reader: PageReader): Markup =>
  html`<details class="change"${refused && html` open`}><summary>Change status, priority or review</summary>
${form(
  reader,
  { action: `/threads/${thread.id}`, label: "Change this conversation" },
  refused &&
    html`<div class="card alert" role="alert"><p><strong>That did not work.</strong> ${refused.message}</p></div>`,
  html`<div class="fields">`,
  choice({
    name: "status",
    label: "Status",
    value: thread.status,
    required: true,
    error: errorAt(refused, "status"),
    choices: choicesOf(statusWords),
  }),
  choice({
    name: "priority",
    label: "Priority",
    value: thread.priority,
    required: true,
    error: errorAt(refused, "priority"),
    choices: choicesOf(priorityWords),
  }),
  choice({
    name: "needs_review",
    label: "Review",
    value: String(thread.needs_review),
    required: true,
    error: errorAt(refused, "needs_review"),
    choices: [
      { value: "true", label: "Needs review" },
      { value: "false", label: "Needs no review" },
    ],
  }),
  html`</div>`,
  button("Save"),
)}</details>`;

const choicesOf = (words: Record<string, string>) => Object.entries(words).map(([value, label]) => ({ value, label }));

/** The part that refreshes itself; the reply form below keeps its text. */
function conversation(view: ThreadView, reader: PageReader): Markup {
  const { entries, ways, why, hasMoreDrafts, path } = view;
  return html`<section class="plain" id="conversation" aria-labelledby="messages-title" hx-get="${path}" hx-trigger="live:threads from:body, live:drafts from:body" hx-select="#conversation" hx-target="#conversation" hx-swap="outerHTML">
${why && whySection(why, reader)}
<h2 id="messages-title">Messages</h2>
${hasMoreDrafts && html`<p class="meta">Only the newest 100 drafts of this conversation are shown here.</p>`}
${pages({ ...ways, newest: null, newer: null }, "messages")}
<ol class="messages">${entries.map((entry) => item(entry, view, reader))}</ol>
${pages({ ...ways, older: null }, "messages")}
</section>`;
}

function item(entry: TimelineEntry, { addressFor }: ThreadView, reader: PageReader): Markup {
  switch (entry.kind) {
    case "message": {
      const { isOpen, message } = entry.view;
      // A message that is nobody's word may be filed by hand.
      const isFixed = !isOpen && message.direction === "inbound" && message.authentication !== null && isWord(message);
      return messageArticle(entry.view, { reader, addressFor, isFixed });
    }
    case "draft":
      return draftArticle(entry.draft, reader);
    case "held":
      return heldArticle(entry.held, reader);
  }
}

const whySection = ({ sentence, link, asksNothing }: UnansweredReason, reader: ThreadReader): Markup =>
  html`<div class="card why" id="why"><p><strong>${asksNothing ? "Not answered:" : "Not answered yet:"}</strong> ${sentence.map((part) => (typeof part === "string" ? part : when(reader, part.at)))}${link && html` <a class="press" href="${link.href}">${link.label}</a>`}</p></div>`;

/** The title of the browser window. */
export const threadTitle = ({ thread: { subject } }: Pick<ThreadView, "thread">): string =>
  shortLine(subject, 80) || "(no subject)";
