import { named } from "#src/channels/card/names.ts";
import { unlinked } from "#src/channels/email/excerpt.ts";
import type { StopLink } from "#src/commands/serviceMail/stops.ts";
import { html, type Markup } from "#src/html/html.ts";
import { page } from "#src/html/page.ts";
import { visibleLine } from "#src/html/visible.ts";

/** What the button of the page does. */
export type Change = "stop" | "resume";

/** The only button that makes sense now. */
export const changeOf = ({ stopped }: StopLink): Change => (stopped ? "resume" : "stop");

type Shown = { nonce: string; notice?: string | undefined };

/** Who sends to which address, what stopping means, and the one button. `notice`: why a press was not counted. */
export const stopPage = (link: StopLink, shown: Shown): string =>
  link.stopped
    ? card({
        tone: "wait",
        title: "Mail from this workspace is stopped",
        sentences: [
          html`Nothing from ${theWorkspace(link)} comes to ${addressOf(link)} any more: no request for approval, no outcome and no notice.`,
          "Drafts that wait for this address go on waiting, or go to the second approver if there is one. Links in mail that came before still work.",
        ],
        button: "Let mail come again",
        shown,
      })
    : card({
        tone: "plain",
        title: "Stop mail from this workspace?",
        sentences: [
          html`Countersign sends mail to ${addressOf(link)} for ${theWorkspace(link)}. Somebody in that workspace entered this address.`,
          "If you stop it, no request for approval, no outcome and no notice comes from there any more. Drafts that wait for this address go on waiting, or go to the second approver if there is one. Links in mail that came before still work.",
          "You can undo it on this page at any time: keep the link. Anybody who has it can do the same. Other workspaces are not touched.",
        ],
        button: "Stop this mail",
        shown,
      });

/** A press that was counted just now; the same page undoes it. */
export const changedPage = (link: StopLink, nonce: string): string =>
  link.stopped
    ? stopPage(link, { nonce })
    : card({
        tone: "good",
        title: "Mail comes again",
        sentences: [html`Mail for ${theWorkspace(link)} comes to ${addressOf(link)} again.`],
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
      html`${posted ? "We could not confirm it." : "Nothing was changed."} <a href="?">Open the page again</a> to see how it is.`,
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
