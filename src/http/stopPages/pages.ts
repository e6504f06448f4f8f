import { named } from "#src/channels/card/names.ts";
import { unlinked } from "#src/channels/email/excerpt.ts";
import type { StopLink, StopLinkChange } from "#src/commands/serviceMail/stops.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { visibleLine } from "#src/html/visible.ts";

/** The only button that makes sense now. */
export const changeOf = ({ standing, stopped }: StopLink): StopLinkChange =>
  standing !== "valid" ? "renew" : stopped ? "resume" : "stop";

type Shown = { nonce: string; notice?: string | undefined };

/** Who sends to which address, what stopping means, and the one button. `notice`: why a press was not counted. */
export const stopPage = (link: StopLink, shown: Shown): string =>
  link.standing !== "valid"
    ? endedPage(link, shown)
    : link.stopped
      ? card({
          tone: "wait",
          title: "Mail from this workspace is stopped",
          sentences: [
            html`Mail from ${theWorkspace(link)} to ${addressOf(link)} is stopped: requests for approval, outcomes and notices.`,
            "Drafts that wait for this address go on waiting, or go to the second approver if there is one. Links in earlier mail still work.",
          ],
          button: "Resume this mail",
          shown,
        })
      : card({
          tone: "plain",
          title: "Stop mail from this workspace?",
          sentences: [
            html`Countersign sends mail to ${addressOf(link)} for ${theWorkspace(link)}. Somebody in that workspace entered this address.`,
            "If you stop it, this address gets no more requests for approval, outcomes or notices from that workspace. Drafts that wait for this address go on waiting, or go to the second approver if there is one. Links in earlier mail still work.",
            "You can undo this here, so keep the link: it works for 90 days, and after that this page mails you a new one. Anybody who has the link can do the same. Mail from other workspaces is not affected.",
          ],
          button: "Stop this mail",
          shown,
        });

/** A link that works no more: its page has a new one mailed to the address, and to nobody else. */
const endedPage = (link: StopLink, shown: Shown): string =>
  card({
    tone: "wait",
    title: link.standing === "closed" ? "This link was closed" : "This link has expired",
    sentences: [
      link.standing === "closed"
        ? "A mail that had it went to somebody else too, so it neither stops nor resumes mail any more."
        : "It is too old to stop or resume mail.",
      html`The newest mail from ${theWorkspace(link)} has a link that works. Or have a new one mailed to ${addressOf(link)}: one in an hour at most.`,
    ],
    button: "Mail a new link",
    shown,
  });

/** A press that was counted just now; where the same page undoes it, it has the button. */
export const changedPage = (link: StopLink, nonce: string): string =>
  link.standing !== "valid"
    ? card({
        tone: "good",
        title: "A new link is on its way",
        sentences: [html`Look for it in the mailbox of ${addressOf(link)}. If it does not come, ask again in an hour.`],
      })
    : link.stopped
      ? stopPage(link, { nonce })
      : card({
          tone: "good",
          title: "Mail is resumed",
          sentences: [html`${addressOf(link)} gets mail from ${theWorkspace(link)} again.`],
          button: "Stop this mail",
          shown: { nonce },
        });

/** The same for every address that never was a link. */
export const unknownPage = (): string =>
  card({
    tone: "plain",
    title: "There is nothing here",
    sentences: ["If you followed a link from one of our mails, check that it was not cut off, or use a newer mail's."],
  });

export const tooManyPage = (): string =>
  card({
    tone: "wait",
    title: "Too many links that do not exist",
    sentences: ["Links from this address were tried too often. A link from a mail goes on working: open it again."],
  });

export const methodPage = (): string =>
  card({ tone: "plain", title: "This page cannot be opened this way", sentences: ["Open the link from the mail."] });

/** `posted`: a press whose outcome is not known. */
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

/** The workspace calls itself as it likes: its words are marked as its own, in quotes that they cannot end, and are no link. */
const theWorkspace = ({ workspaceId, workspaceName }: StopLink): Markup =>
  html`the workspace that calls itself <bdi>${unlinked(named(workspaceName))}</bdi> (<code>${workspaceId}</code>)`;

const addressOf = ({ address }: StopLink): Markup => html`<strong><bdi>${visibleLine(address)}</bdi></strong>`;

type Card = {
  tone: "good" | "bad" | "wait" | "plain";
  title: string;
  sentences: (string | Markup)[];
  button?: string;
  shown?: Shown;
};

// A form without an action posts to its own page, wherever the service is mounted.
const card = ({ tone, title, sentences, button, shown }: Card): string =>
  page({
    title,
    main: html`${shown?.notice && html`<div class="card alert" role="alert"><p>${shown.notice}</p></div>`}<div class="card outcome ${tone}"><h1>${title}</h1>${sentences.map((sentence) => html`<p>${sentence}</p>`)}${button && shown && html`<form method="post"><input type="hidden" name="nonce" value="${shown.nonce}"><button>${button}</button></form>`}</div>`,
  });
