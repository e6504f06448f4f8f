import type { Response } from "express";
import { asSentence } from "#src/html/asSentence.ts";
import { html, type Value } from "#src/html/html.ts";
import { answerDocument } from "../../web/answers.ts";
import type { Assets } from "../../web/assets.ts";
import { plainDocument } from "../../web/layout.ts";
import type { Refused } from "./visit.ts";

/** The pages for what did not work. They show nothing of any workspace. */

type Options = { assets: Assets };

/** A form came that no page of this session has sent. */
export class NotOwnForm extends Error {
  override readonly name = "NotOwnForm";
}

export const unknownPage = (response: Response, options: Options): void =>
  answer(response, options, {
    status: 404,
    title: "There is no such page",
    says: html`<p>It may have been deleted, or it belongs to another workspace.</p>`,
  });

export const noWorkspacePage = (response: Response, options: Options): void =>
  answer(response, options, {
    status: 403,
    title: "You are in no workspace",
    says: html`<p>You are signed in, but not a member of the workspace that you looked at last. Ask its owner for an invitation, or choose another workspace.</p>
<p><a class="press" href="/workspaces">Your workspaces</a></p>`,
    back: false,
  });

export const endedPage = (response: Response, options: Options): void =>
  answer(response, options, {
    status: 401,
    title: "Your rights have changed",
    says: html`<p>Somebody changed what you may do here while this page was being made. Load it again.</p>`,
  });

export const notOwnFormPage = (response: Response, options: Options): void =>
  answer(response, options, {
    status: 403,
    title: "Please do that once more",
    says: html`<p>Nothing was changed. The page that you pressed the button on was out of date, or not from here. Go back, load it again, and press once more.</p>`,
  });

export const unreadablePage = (response: Response, options: Options, status: number): void =>
  answer(response, options, {
    status,
    title: status === 413 ? "That is too large" : "That could not be read",
    says: html`<p>Nothing was changed. ${status === 413 ? "A form may hold one megabyte." : "Go back, and send the form again."}</p>`,
  });

/** What a route refused, where the page had no better place to say so. */
export function refusedPage(response: Response, options: Options, refused: Refused): void {
  if (refused.status === 404) {
    unknownPage(response, options);
    return;
  }
  if (refused.retryAfter !== undefined) response.set("Retry-After", refused.retryAfter);
  answer(response, options, {
    status: refused.status,
    title: titleOf(refused),
    says: html`<p>${asSentence(refused.message)}</p>`,
  });
}

const titles: Record<number, string> = {
  401: "You are signed out",
  403: "Your role does not allow this",
  409: "Somebody was faster",
  429: "Too much at once",
  500: "Something went wrong",
  503: "Please try again in a moment",
};

const titleOf = ({ status }: Refused): string => titles[status] ?? "This was not done";

type Page = { status: number; title: string; says: Value; back?: boolean };

function answer(response: Response, options: Options, { status, title, says, back = true }: Page): void {
  const main = html`<div class="card outcome wait"><h1>${title}</h1>${says}</div>${back && html`<p><a class="press" href="/review">To the review</a></p>`}`;
  answerDocument(response, status, plainDocument(title, main, options));
}
