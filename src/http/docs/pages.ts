import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { Router } from "express";
import { html, type Markup } from "#src/html/html.ts";
import type { Document } from "../framework/openapi/openapi.ts";
import { type Reply, reply } from "../framework/reply.ts";
import { send } from "../framework/send.ts";
import { documents, documentText, withTables } from "./documents.ts";
import { llmsText } from "./llmsText.ts";
import { allTables, type Declared } from "./tables.ts";

const { resolve } = createRequire(import.meta.url);
const own = (name: string): string => fileURLToPath(import.meta.resolve(`#src/http/docs/${name}`));

/** Files of the pages; all are served by this process. */
const files: Record<string, { path: string; type: string }> = {
  "swagger-ui.css": { path: resolve("swagger-ui-dist/swagger-ui.css"), type: "text/css; charset=utf-8" },
  "swagger-ui.js": { path: resolve("swagger-ui-dist/swagger-ui-bundle.js"), type: "text/javascript; charset=utf-8" },
  "favicon.png": { path: resolve("swagger-ui-dist/favicon-32x32.png"), type: "image/png" },
  "docs.css": { path: own("browser.css"), type: "text/css; charset=utf-8" },
  "document.css": { path: own("document.css"), type: "text/css; charset=utf-8" },
  "docs.js": { path: own("browser.js"), type: "text/javascript; charset=utf-8" },
};

/** /docs: the OpenAPI document in Swagger UI, and the other pages, all without requests to other hosts; /llms.txt for models. */
export function docsPages(
  { title, document }: { title: string; document: () => Document },
  declared: Declared,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const page = docsPage(title);
  const read = new Map<string, Promise<Buffer>>();
  router.get("/docs", (_, response) => send(response, page));
  router.get("/llms.txt", (_, response) => send(response, plain(llmsText(document()))));
  for (const name of Object.keys(documents)) {
    let made: Promise<Reply> | undefined;
    router.get(`/docs/${name}`, async (_, response) => {
      made ??= documentPage(withTables(documentText(name), allTables(declared)));
      await send(response, await made);
    });
  }
  for (const [name, { path, type }] of Object.entries(files)) {
    router.get(`/docs/${name}`, async (_, response) => {
      if (!read.has(name)) read.set(name, readFile(path));
      const bytes = (await read.get(name)) as Buffer;
      const headers = { "Content-Type": type, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache" };
      await send(response, reply({ bytes, headers }));
    });
  }
  return router;
}

/** Scripts and styles from this origin only; images may also be embedded in the style sheet. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

function docsPage(title: string): Reply {
  const page = html`<html lang="en"><head><meta charset="utf-8"><title>${title}: API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/docs/favicon.png"><link rel="stylesheet" href="/docs/swagger-ui.css"><link rel="stylesheet" href="/docs/docs.css"></head>
<body><nav class="documents">${documentLinks()}</nav>
<noscript>This page needs JavaScript; the document itself is <a href="/openapi.json">openapi.json</a>.</noscript>
<div id="docs"></div>
<script src="/docs/swagger-ui.js"></script><script src="/docs/docs.js"></script>
</body></html>
`;
  return pageReply(page);
}

/** Makes one of the pages besides the reference. The renderer is loaded with the first page, so that the start does not wait for it. */
async function documentPage(text: string): Promise<Reply> {
  const { renderMarkdown } = await import("./markdown.ts");
  return pageReply(html`<html lang="en"><head><meta charset="utf-8"><title>${/^# (.+)$/m.exec(text)?.[1]}</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/docs/favicon.png"><link rel="stylesheet" href="/docs/document.css"></head>
<body><nav class="documents">${documentLinks()}</nav>
<main>${renderMarkdown(text)}</main>
</body></html>
`);
}

const documentLinks = (): Markup =>
  html`<a href="/docs">API reference</a>${Object.entries(documents).map(
    ([name, { says, title }]) => html` <a href="/docs/${name}" title="${says}">${title}</a>`,
  )}`;

const plain = (text: string): Reply =>
  reply({
    bytes: Buffer.from(text),
    headers: { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" },
  });

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
