import { html, type Markup } from "#src/html/html.ts";
import { type Reply, reply } from "../framework/reply.ts";
import { documents, pageGroups } from "./documents.ts";

/** `path`: where the page is served, to mark it in the navigation. `tags`: the nouns of the API reference. */
export type PageFrame = { title: string; path: string; tags: readonly string[]; script?: boolean };

/** The page with the navigation that all pages share. */
export function pageInFrame({ title, path, tags, script = false }: PageFrame, main: Markup): Reply {
  return pageReply(html`<html lang="en"><head><meta charset="utf-8"><title>${title}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="/docs/icon.svg"><link rel="stylesheet" href="/docs/docs.css">${script && html`<script src="/docs/docs.js" defer></script>`}</head>
<body><header><a class="skip" href="#main">Skip to the text</a><a class="name" href="/docs">Countersign</a> <a class="menu" href="#pages">Menu</a></header>
<div class="frame"><main id="main">
${main}
</main>
<nav id="pages" aria-label="Pages">${navigation(path, tags)}</nav></div>
</body></html>
`);
}

function navigation(here: string, tags: readonly string[]): Markup {
  const link = (href: string, title: string, says?: string): Markup =>
    html`<li><a href="${href}"${says && html` title="${says}"`}${href === here && html` aria-current="page"`}>${title}</a></li>`;
  const first: Partial<Record<(typeof pageGroups)[number], Markup>> = {
    Start: link("/docs", "Introduction", "Ten minutes to the first reply, and all calls"),
  };
  return html`${pageGroups.map(
    (group) => html`<h2>${group}</h2>
<ul>${first[group]}${Object.entries(documents)
      .filter(([, page]) => page.group === group)
      .map(([name, { title, says }]) => link(`/docs/${name}`, title, says))}</ul>
`,
  )}<h2>API calls</h2>
<ul>${tags.map((tag) => link(`/docs/api/${tag}`, tag))}</ul>`;
}

/** Scripts, styles and pictures from this origin only; a form is sent by the page's script, never by the browser. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

const pageReply = (page: Markup): Reply =>
  reply({
    bytes: Buffer.from(`<!doctype html>\n${page}`),
    headers: {
      "Content-Type": "text/html; charset=utf-8",
      "Content-Security-Policy": policy,
      "Referrer-Policy": "no-referrer",
      "X-Content-Type-Options": "nosniff",
      "X-Frame-Options": "DENY",
    },
  });
