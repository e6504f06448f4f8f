import { named } from "#src/channels/card/names.ts";
import { unlinked } from "#src/channels/email/excerpt.ts";
import type { UnsubscribeChange, UnsubscribeLink } from "#src/commands/serviceMail/unsubscribes.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { visibleLine } from "#src/html/visible.ts";

/** The action of the page's button in the link's current state. */
export const changeOf = ({ standing, stopped }: UnsubscribeLink): UnsubscribeChange =>
  standing !== "valid" ? "renew" : stopped ? "resume" : "stop";

type UnsubscribePageState = { nonce: string; notice?: string | undefined };

/** The sender and recipient, the effect of unsubscribing, and the button. `notice`: why a submission did not count. */
export const unsubscribePage = (link: UnsubscribeLink, shown: UnsubscribePageState): string =>
  link.standing !== "valid"
    ? endedPage(link, shown)
    : link.stopped
      ? card({
          tone: "wait",
          title: "Mail from this workspace is stopped",
          sentences: [
            html`Mail from ${theWorkspace(link)} to ${addressOf(link)} is stopped. This includes requests for approval, outcomes and notices.`,
            "Drafts that wait for this approver keep waiting, or go to the second approver if there is one. Links in earlier mail still work.",
          ],
          button: "Resume this mail",
          shown,
        })
      : card({
          tone: "plain",
          title: "Stop mail from this workspace?",
          sentences: [
            html`Countersign sends mail to ${addressOf(link)} for ${theWorkspace(link)}. A member of that workspace entered this address.`,
            "If you stop it, this address gets no more requests for approval, outcomes or notices from that workspace. Drafts that wait for this approver keep waiting, or go to the second approver if there is one. Links in earlier mail still work.",
            "You can resume the mail on this page, so keep the link. It works for 90 days; after that, this page can mail you a new one. Anyone who has the link can stop or resume this mail. Mail from other workspaces is not affected.",
          ],
          button: "Stop this mail",
          shown,
        });

/** Shown for a link that does not work any more: the button mails a new link to the address itself. */
const endedPage = (link: UnsubscribeLink, shown: UnsubscribePageState): string =>
  card({
    tone: "wait",
    title: link.standing === "closed" ? "This link was closed" : "This link has expired",
    sentences: [
      link.standing === "closed"
        ? "A mail with this link was also sent to another address, so the link can no longer stop or resume mail."
        : "The link is too old to stop or resume mail.",
      html`The newest mail from ${theWorkspace(link)} has a link that works. Or have a new link mailed to ${addressOf(link)}, at most once an hour.`,
    ],
    button: "Mail a new link",
    shown,
  });

/** Shown after a submission that counted; contains the button to undo it, if it can be undone. */
export const changedPage = (link: UnsubscribeLink, nonce: string): string =>
  link.standing !== "valid"
    ? card({
        tone: "good",
        title: "A new link is on its way",
        sentences: [html`Check the inbox of ${addressOf(link)}. If the mail does not arrive, try again in an hour.`],
      })
    : link.stopped
      ? unsubscribePage(link, { nonce })
      : card({
          tone: "good",
          title: "Mail is resumed",
          sentences: [html`Mail from ${theWorkspace(link)} to ${addressOf(link)} is sent again.`],
          button: "Stop this mail",
          shown: { nonce },
        });

/** Shown for all unknown addresses alike, so that it reveals nothing. */
export const unknownPage = (): string =>
  card({
    tone: "plain",
    title: "Page not found",
    sentences: [
      "If you followed a link from one of our mails, check that it was not cut off, or use the link in a newer mail.",
    ],
  });

export const tooManyPage = (): string =>
  card({
    tone: "wait",
    title: "Too many invalid links",
    sentences: [
      "Too many invalid links were opened from your network address. A link from a mail still works: open it again.",
    ],
  });

export const methodPage = (): string =>
  card({ tone: "plain", title: "This page cannot be opened this way", sentences: ["Open the link from the mail."] });

/** `posted`: the outcome of a submitted form is unknown. */
export const unavailablePage = (posted: boolean): string =>
  card({
    tone: "wait",
    title: "Please try again in a moment",
    sentences: [
      html`${posted ? "We could not confirm the change." : "Nothing was changed."} <a href="?">Open the page again</a> to see the current state.`,
    ],
  });

export const brokenPage = (): string =>
  card({
    tone: "bad",
    title: "Something went wrong",
    sentences: [html`Nothing was changed, or we could not confirm it. <a href="?">Open the page again</a>`],
  });

/** The workspace's name is free text: quoted so that it cannot continue the sentence, and never a link. */
const theWorkspace = ({ workspaceId, workspaceName }: UnsubscribeLink): Markup =>
  html`the workspace <bdi>${unlinked(named(workspaceName))}</bdi> (<code>${workspaceId}</code>)`;

const addressOf = ({ address }: UnsubscribeLink): Markup => html`<strong><bdi>${visibleLine(address)}</bdi></strong>`;

type Card = {
  tone: "good" | "bad" | "wait" | "plain";
  title: string;
  sentences: (string | Markup)[];
  button?: string;
  shown?: UnsubscribePageState;
};

// Without an action attribute the form posts to its own URL, under any base path.
const card = ({ tone, title, sentences, button, shown }: Card): string =>
  page({
    title,
    main: html`${shown?.notice && html`<div class="card alert" role="alert"><p>${shown.notice}</p></div>`}<div class="card outcome ${tone}"><h1>${title}</h1>${sentences.map((sentence) => html`<p>${sentence}</p>`)}${button && shown && html`<form method="post"><input type="hidden" name="nonce" value="${shown.nonce}"><button>${button}</button></form>`}</div>`,
  });
