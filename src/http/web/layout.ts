import { html, type Markup, type MarkupValue } from "#src/html/html.ts";
import { frameStyleHash, headersOf } from "#src/html/page.ts";
import type { Assets } from "./assets.ts";

/** A page outside of any workspace, for visitors who are not signed in or have no workspace. */
export const plainDocument = (title: string, main: MarkupValue, { assets }: { assets: Assets }): string => {
  const body = html`
<header class="top"><p class="brand"><a href="/"><span aria-hidden="true">✓</span> Countersign</a></p></header>
<main id="main">${main}</main>`;
  return wholeDocument({ title, body, className: "console" }, assets);
};

type DocumentParts = { title: string; head?: Markup; body: Markup; className: string };

/** The HTML document around every page: its head and footer. */
export const wholeDocument = ({ title, head, body, className }: DocumentParts, assets: Assets): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">
<title>${title} · Countersign</title>
<link rel="stylesheet" href="${assets.style}">${head}
</head>
<body class="${className}">${body}
<footer><p>A person keeps the last word.</p></footer>
</body>
</html>
`.markup;

/** Content security policy of console pages: own styles, scripts and requests; mails are shown in frames with a policy of their own. */
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

/** Headers of console pages. Without a referrer, browsers would send forms with `Origin: null`, like those of foreign pages. */
export const consoleHeaders = headersOf(policy, "same-origin");
