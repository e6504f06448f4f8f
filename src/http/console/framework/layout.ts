import { button, form } from "#src/html/forms.ts";
import { html, type Value } from "#src/html/html.ts";
import { frameStyleHash } from "#src/html/page.ts";
import type { Assets } from "./assets.ts";
import { type Notice, notices } from "./notices.ts";
import type { Shown } from "./page.ts";
import type { Visit } from "./visit.ts";

/** The places that every page leads to. */
const places = [
  { path: "/review", name: "Review" },
  { path: "/threads", name: "Conversations" },
  { path: "/identities", name: "Identities" },
  { path: "/domains", name: "Domains" },
  { path: "/settings", name: "Settings" },
] as const;

/** htmx without anything that needs more than this page's own policy allows. */
const htmxConfig = JSON.stringify({
  allowEval: false,
  allowScriptTags: false,
  includeIndicatorStyles: false,
  selfRequestsOnly: true,
  historyEnabled: false,
  refreshOnHistoryMiss: true,
});

export type LayoutOptions = { assets: Assets; workspaceName: string };

/** One whole page of the console. */
export function consoleDocument(
  shown: Shown,
  visit: Pick<Visit, "path" | "principal" | "formToken">,
  { assets, workspaceName, notice }: LayoutOptions & { notice: Notice | undefined },
): string {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content="${htmxConfig}">
<title>${shown.title} · Countersign</title>
<link rel="stylesheet" href="${assets.style}">
${assets.scripts.map((src) => html`<script src="${src}" defer></script>`)}${shown.head}
</head>
<body class="console${shown.wide ? " wide" : ""}">
<a class="skip-link" href="#main">Skip to the content</a>
<header class="top">
<p class="brand"><a href="/review"><span aria-hidden="true">✓</span> Countersign</a></p>
<nav aria-label="Main"><ul>${places.map(
    ({ path, name }) =>
      html`<li><a href="${path}"${isWithin(shown.current ?? visit.path, path) && html` aria-current="page"`}>${name}</a></li>`,
  )}</ul></nav>
<div class="who"><p><a href="/workspaces"><bdi>${workspaceName}</bdi></a> · <a href="/settings/profile"><bdi>${visit.principal.name}</bdi></a> <span class="role">${visit.principal.role}</span></p>
${form(visit, { action: "/auth/sign-out", className: "inline" }, button("Sign out", { kind: "quiet" }))}</div>
</header>
<main id="main" tabindex="-1">${notice !== undefined && html`<p class="notice" role="status">${notices[notice]}</p>`}
${shown.main}</main>
<footer><p>A person keeps the last word.</p></footer>
</body>
</html>
`.markup;
}

const isWithin = (path: string, place: string): boolean => path === place || new RegExp(`^${place}[/?]`).test(path);

/** A page that stands outside of any workspace: for who may see nothing more. */
export const plainDocument = (title: string, main: Value, { assets }: Pick<LayoutOptions, "assets">): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${title} · Countersign</title>
<link rel="stylesheet" href="${assets.style}">
</head>
<body class="console">
<header class="top"><p class="brand"><a href="/"><span aria-hidden="true">✓</span> Countersign</a></p></header>
<main id="main">${main}</main>
<footer><p>A person keeps the last word.</p></footer>
</body>
</html>
`.markup;

/** What a page of the console may do: its own style, scripts and requests; letters in frames of their own. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  `style-src 'self' ${frameStyleHash}`,
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** The headers a page of the console is served with. */
export const consoleHeaders: Readonly<Record<string, string>> = {
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": policy,
  "Cache-Control": "no-store",
  // Forms of other pages would come with `Origin: null`, and could not be told from a stranger's.
  "Referrer-Policy": "same-origin",
  "X-Robots-Tag": "noindex, nofollow, noarchive",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};
