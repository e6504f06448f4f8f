import { createHash } from "node:crypto";
import { html, type Markup, type MarkupValue, trusted } from "./html.ts";
import { frameStyle, pageStyle } from "./style.ts";

/**
 * One whole page of ours: no script, one stylesheet. `title` names the outcome first; `main` starts with the h1. `refreshSeconds`: the
 * page reloads itself after this time.
 */
export const page = ({
  title,
  main,
  refreshSeconds,
}: {
  title: string;
  main: MarkupValue;
  refreshSeconds?: number | undefined;
}): string =>
  html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<meta name="color-scheme" content="light dark">${
    refreshSeconds !== undefined &&
    html`
<meta http-equiv="refresh" content="${String(refreshSeconds)}">`
  }
<title>${title}</title>
<style>${trusted(pageStyle)}</style>
</head>
<body>
<header><p class="brand"><span aria-hidden="true">✓</span> Countersign</p></header>
<main>${main}</main>
<footer><p>A person keeps the last word.</p></footer>
</body>
</html>
`.markup;

/**
 * Shows sanitised HTML in a separate frame: an opaque origin, no script, no form, nothing loaded, no navigation. It inherits the page's
 * policy as well.
 */
export const frame = (sanitised: string, title: string): Markup =>
  html`<iframe class="letter-frame" sandbox="" title="${title}" srcdoc="${framed(sanitised)}"></iframe>`;

const framed = (sanitised: string): string =>
  html`<!doctype html><html><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src ${hashOf(frameStyle)}"><title>Letter</title><style>${trusted(frameStyle)}</style></head><body>${trusted(sanitised)}</body></html>`
    .markup;

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

/** Hash for the policy of a page that shows such frames. */
export const frameStyleHash = hashOf(frameStyle);

/** Policy of such a page: it may show itself and its frame, with these two stylesheets, and post its form. */
const policy = [
  "default-src 'none'",
  // A mail's own pictures are embedded in the page.
  "img-src data:",
  `style-src ${hashOf(pageStyle)} ${hashOf(frameStyle)}`,
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** Builds the headers for every page of ours. */
export const headersOf = (
  policy: string,
  referrer: "no-referrer" | "same-origin",
): Readonly<Record<string, string>> => ({
  "Content-Type": "text/html; charset=utf-8",
  "Content-Security-Policy": policy,
  "Cache-Control": "no-store",
  "Referrer-Policy": referrer,
  "X-Robots-Tag": "noindex, nofollow, noarchive",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
});

/** Headers of a page behind a link in our mail. */
export const pageHeaders = headersOf(policy, "no-referrer");
