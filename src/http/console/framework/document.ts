import { button, form } from "#src/html/forms.ts";
import { html } from "#src/html/html.ts";
import type { Assets } from "../../web/assets.ts";
import { firstPageOf } from "../../web/firstPage.ts";
import { wholeDocument } from "../../web/layout.ts";
import { type Notice, notices } from "./notices.ts";
import type { ConsolePage } from "./page.ts";
import type { PageContext } from "./pageContext.ts";

/** Links in the header of every page, shown to people who may open them. */
const places = [
  { path: "/review", name: "Review", scope: "read:threads" },
  { path: "/threads", name: "Conversations", scope: "read:threads" },
  { path: "/drafts", name: "Drafts", scope: "read:threads" },
  { path: "/identities", name: "Identities", scope: "read:identities" },
  { path: "/domains", name: "Domains", scope: "read:domains" },
  { path: "/audit", name: "Audit", scope: "read:audit" },
  { path: "/settings", name: "Settings", scope: null },
] as const;

/** Disables htmx features that the page's content security policy forbids. */
const htmxConfig = JSON.stringify({
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyEnabled: false,
  refreshOnHistoryMiss: true,
});

type Options = { assets: Assets; workspaceName: string; notice: Notice | undefined };

/** One complete page of the console. */
export function consoleDocument(
  shown: ConsolePage,
  context: Pick<PageContext, "path" | "principal" | "formToken">,
  { assets, workspaceName, notice }: Options,
): string {
  const head = html`
<link rel="icon" href="${assets.icon}" type="image/svg+xml">
<meta name="htmx-config" content="${htmxConfig}">
${assets.scripts.map((src) => html`<script src="${src}" defer></script>`)}${shown.head}`;
  const links = html`<ul>${places
    .filter(({ scope }) => scope === null || context.principal.scopes.includes(scope))
    .map(
      ({ path, name }) =>
        html`<li><a href="${path}"${isWithin(shown.current ?? context.path, path) && html` aria-current="page"`}>${name}</a></li>`,
    )}</ul>`;
  const who = html`<p><a href="/workspaces"><bdi>${workspaceName}</bdi></a> · <a href="/settings/profile"><bdi>${context.principal.name}</bdi></a> <span class="role">${context.principal.role}</span></p>`;
  // The row of links on wide windows, and a folded menu with the same links on phones; the style sheet shows one of them.
  const body = html`
<a class="skip-link" href="#main">Skip to the content</a>
<header class="top">
<p class="brand"><a href="${firstPageOf(context.principal.role)}"><span aria-hidden="true">✓</span><span class="name"> Countersign</span></a></p>
<nav aria-label="Main">${links}</nav>
<div class="who">${who}
${form(context, { action: "/auth/sign-out", className: "inline", id: "sign-out" }, button("Sign out", { kind: "quiet" }))}</div>
<details class="menu"><summary>Menu</summary><div class="panel"><nav aria-label="Main">${links}</nav>
<div class="who">${who}
<button class="button quiet" form="sign-out">Sign out</button></div></div></details>
</header>
<main id="main" tabindex="-1">${notice !== undefined && html`<p class="notice" role="status">${notices[notice]}</p>`}
${shown.main}</main>`;
  return wholeDocument({ title: shown.title, head, body, className: shown.wide ? "console wide" : "console" }, assets);
}

const isWithin = (path: string, place: string): boolean => path === place || new RegExp(`^${place}[/?]`).test(path);
