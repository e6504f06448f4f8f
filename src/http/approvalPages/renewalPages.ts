import type { Renewal, RenewalPlace } from "#src/channels/approvalRenewal.ts";
import { named } from "#src/channels/card/names.ts";
import { unlinked } from "#src/channels/email/excerpt.ts";
import { html, type Markup } from "#src/html/html.ts";
import { visibleLine } from "#src/html/visible.ts";
import { outcomePage } from "./outcomePages.ts";

/** `nonce`: of the button. `notice`: why a press did not count. */
type ExpiredPageState = { nonce: string; notice?: string | undefined };

/** Shown for an expired link: the button that has its holder asked again, or who can be asked instead. Nothing of the draft. */
export const expiredPage = (renewal: Renewal, { nonce, notice }: ExpiredPageState): string =>
  outcomePage({
    tone: "plain",
    title: "This link has expired",
    sentences: [...(notice ? [notice] : []), "Nothing was decided.", whatNow(renewal), whoCanBeAsked(renewal)],
    more: renewal.kind === "possible" && renewForm(renewal.place, nonce),
  });

/** Shown after a press that had the holder asked again. */
export const renewedPage = (renewal: Renewal & { place: RenewalPlace }): string =>
  outcomePage({
    tone: "good",
    title: "A new request is on its way",
    sentences: [
      renewal.place.type === "email"
        ? html`Check the inbox of ${addressOf(renewal.place)}. If many drafts wait for you, one mail about them comes within a quarter of an hour. If it does not arrive, open this page again in an hour.`
        : `Look into the chat in ${chats[renewal.place.type]}. If the question does not arrive, open this page again in an hour.`,
    ],
  });

/** Shown if the workspace's approvers are asked too often at the moment. */
export const renewLaterPage = (): string =>
  outcomePage({
    tone: "wait",
    title: "Please try again in a minute",
    sentences: [
      "Too many requests are made in this workspace at the moment, so no new one was made.",
      html`<a class="press" href="?">Open the page again</a>`,
    ],
  });

// Without an action attribute the form posts to its own URL, under any base path.
const renewForm = ({ type }: RenewalPlace, nonce: string): Markup => html`<form method="post">
<input type="hidden" name="nonce" value="${nonce}">
<button name="decision" value="renew">${type === "email" ? "Mail me a new request" : `Ask again in ${chats[type]}`}</button>
</form>`;

const chats = { telegram: "Telegram", slack: "Slack" } as const;

function whatNow(renewal: Renewal): Markup | string {
  switch (renewal.kind) {
    case "possible":
    case "requested":
      return renewal.place.type === "email"
        ? html`The decision is still open. A new request, with links that work, can be mailed to ${addressOf(renewal.place)}, at most once an hour.`
        : `The decision is still open. A new question can be posted in the chat in ${chats[renewal.place.type]}, at most once an hour.`;
    case "stopped":
      return html`Mail from this workspace to ${renewal.place.type === "email" && addressOf(renewal.place)} is stopped, so no new request can be mailed. The link under any of its mails resumes it.`;
    case "live":
      return "A newer request is valid, or on its way: use that one, if you got it.";
    case "recent":
      return "A new request was made a short while ago. If it does not arrive, open this page again in an hour.";
    case "elsewhere":
      return "Other approvers are asked about this draft now.";
    case "changes_requested":
      return "The agent was asked for changes. You will be asked about its next version.";
    case "decided":
      return "Nothing waits for a decision behind this link any more.";
  }
}

/** The workspace's name is free text: quoted so that it cannot continue the sentence, and never a link. */
const whoCanBeAsked = ({ workspaceName }: Renewal): Markup =>
  html`Members of the workspace <bdi>${unlinked(named(workspaceName))}</bdi> can decide in the console: <a href="/review">open the review queue</a>. Its owners, or the people who run the agent, can have you asked again or say who decides now.`;

const addressOf = (place: Extract<RenewalPlace, { type: "email" }>): Markup =>
  html`<strong><bdi>${visibleLine(place.address)}</bdi></strong>`;
