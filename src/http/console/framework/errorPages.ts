import { asSentence } from "#src/html/asSentence.ts";
import { html, type MarkupValue } from "#src/html/html.ts";
import type { Reply } from "../../framework/reply.ts";
import { documentReply } from "../../web/answers.ts";
import type { Assets } from "../../web/assets.ts";
import { plainDocument } from "../../web/layout.ts";
import type { PageRefusal } from "./pageContext.ts";

/** Error pages. They show nothing of any workspace. */

export const unknownPage = (assets: Assets): Reply =>
  errorPage(assets, {
    status: 404,
    title: "Page not found",
    says: html`<p>It may have been deleted, or it belongs to another workspace.</p>`,
  });

export const noWorkspacePage = (assets: Assets): Reply =>
  errorPage(assets, {
    status: 403,
    title: "You are not a member of a workspace",
    says: html`<p>You are signed in, but you are not a member of the workspace that you last used. Ask its owner for an invitation, or choose another workspace.</p>
<p><a class="press" href="/workspaces">Your workspaces</a></p>`,
    back: false,
  });

export const endedPage = (assets: Assets): Reply =>
  errorPage(assets, {
    status: 401,
    title: "Your rights have changed",
    says: html`<p>Your rights in this workspace changed while this page was loading. Load it again.</p>`,
  });

export const notOwnFormPage = (assets: Assets): Reply =>
  errorPage(assets, {
    status: 403,
    title: "Please try that again",
    says: html`<p>Nothing was changed. The page was out of date, or it was not a page of this service. Go back, reload the page, and press the button again.</p>`,
  });

export const unreadablePage = (assets: Assets, status: number): Reply =>
  errorPage(assets, {
    status,
    title: status === 413 ? "That is too large" : "That could not be read",
    says: html`<p>Nothing was changed. ${status === 413 ? "A form can hold at most one megabyte." : "Go back, and send the form again."}</p>`,
  });

/** A route's refusal on a page that cannot show it itself. */
export const refusedPage = (assets: Assets, refused: PageRefusal): Reply =>
  refused.status === 404
    ? unknownPage(assets)
    : errorPage(assets, {
        status: refused.status,
        title: titles[refused.status] ?? "That did not work",
        says: html`<p>${asSentence(refused.message)}</p>`,
        retryAfter: refused.retryAfter,
      });

const titles: Record<number, string> = {
  401: "You are signed out",
  403: "Your role does not allow this",
  409: "Someone else got there first",
  429: "Too many requests",
  500: "Something went wrong",
  503: "Please try again in a moment",
};

type Page = { status: number; title: string; says: MarkupValue; back?: boolean; retryAfter?: string | undefined };

function errorPage(assets: Assets, { status, title, says, back = true, retryAfter }: Page): Reply {
  const main = html`<div class="card outcome wait"><h1>${title}</h1>${says}</div>${back && html`<p><a class="press" href="/review">Go to Review</a></p>`}`;
  const headers: Record<string, string> = retryAfter === undefined ? {} : { "Retry-After": retryAfter };
  return documentReply(status, plainDocument(title, main, { assets }), headers);
}
