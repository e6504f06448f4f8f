import { blankSlate } from "#src/html/blankSlate.ts";
import { counted } from "#src/html/counted.ts";
import { withErrorSummary } from "#src/html/forms.ts";
import { html, type Markup } from "#src/html/html.ts";
import { when } from "#src/html/times.ts";
import { shortLine } from "#src/html/visible.ts";
import { pages } from "../framework/pageLinks.ts";
import { filterForm } from "./filterForm.ts";
import type { ListedThread, ThreadsView } from "./threadsView.ts";
import { badge, priorityWords, shortPerson, statusWords, subjectLine, type ThreadReader } from "./threadWords.ts";

export const isFiltered = (filters: ThreadsView["filters"]): boolean =>
  Object.entries(filters).some(([name, value]) => !["sort", "limit"].includes(name) && value !== "");

/** The list of the workspace's conversations, most recent first. */
export const threadsPage = (view: ThreadsView, reader: ThreadReader): Markup => html`<h1>Conversations</h1>
${withErrorSummary(view.refused, filterForm(view))}
${view.list && listSection(view, view.list, reader)}`;

function listSection(view: ThreadsView, list: NonNullable<ThreadsView["list"]>, reader: ThreadReader): Markup {
  const { threads, total, isCapped, ways } = list;
  return html`<section class="plain" id="conversations" aria-labelledby="found" hx-get="${view.path}" hx-trigger="live:threads from:body" hx-select="#conversations" hx-target="#conversations" hx-swap="outerHTML">
<h2 id="found">${isCapped && "More than "}${counted(total, "conversation")}</h2>
${threads.length === 0 ? nothing(view) : html`<ol class="conversations">${threads.map((one) => row(one, reader))}</ol>`}
${pages(ways, "conversations")}
</section>`;
}

function row({ thread, line, identity }: ListedThread, reader: ThreadReader): Markup {
  const { id, subject, status, priority, needs_review, participants, last_message_at, message_count } = thread;
  const written = shortLine(line?.line ?? "", 160);
  return html`<li class="conversation${needs_review && " review"}"><a href="/threads/${id}">
<span class="who">${line?.sender_email ? shortPerson(line.sender_name, line.sender_email) : shortPerson(null, participants[0] ?? "")}${message_count > 1 && html` <span class="count" title="messages">${message_count.toLocaleString("en")}<span class="unseen"> messages</span></span>`}</span>
<span class="subject"><bdi lang="">${subjectLine(subject, 150)}</bdi></span></a>
<p class="line">${line?.direction === "outbound" && html`<span class="meta">You: </span>`}${written !== "" && html`<bdi lang="">${written}</bdi>`}</p>
<p class="facts"><span class="status ${status}">${statusWords[status]}</span>${needs_review && badge("Needs review", "notice")}${priority !== "normal" && badge(priorityWords[priority], priority === "low" ? "plain" : "notice")}${line?.has_attachments && badge("Attachment")}${identity && html` <span class="identity"><bdi lang="">${shortLine(identity.display_name, 60)}</bdi></span>`}</p>
<p class="time">${last_message_at === null ? "no message yet" : when(reader, last_message_at)}</p></li>
`;
}

/** Shown if the list is empty: what to do next. */
function nothing({ filters, identities, maySeeIdentities, list }: ThreadsView): Markup {
  if (isFiltered(filters) || list?.ways.newest) {
    return blankSlate("No conversation matches", {
      text: "Use fewer words or filters.",
      action: { path: "/threads", label: "See all conversations" },
    });
  }
  const [first] = identities;
  if (first) {
    return blankSlate("No mail has arrived yet", {
      text: html`Write a mail to <bdi>${first.email_address}</bdi> and it appears here within seconds.`,
      action: { path: `/identities/${first.id}`, label: "Open this identity" },
    });
  }
  return blankSlate("No mail has arrived yet", {
    text: `Mail needs an address: ${maySeeIdentities ? "create an identity." : "ask an admin of this workspace to create an identity."}`,
    action: maySeeIdentities && { path: "/identities", label: "Identities" },
  });
}
