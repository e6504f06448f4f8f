import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { Router } from "express";
import { html } from "#src/html/html.ts";
import { tokensSheet } from "#src/html/tokens.ts";
import type { Document } from "../framework/openapi/openapi.ts";
import { type Reply, reply } from "../framework/reply.ts";
import { send } from "../framework/send.ts";
import { documents, documentText, withTables } from "./documents.ts";
import { pageInFrame } from "./layout.ts";
import { llmsText } from "./llmsText.ts";
import { allTables, type Declared } from "./tables.ts";

const file = (path: string): string => fileURLToPath(import.meta.resolve(path));

/** Files of the pages; all are served by this process. */
const files: Record<string, { path: string; type: string; before?: string }> = {
  "docs.css": { path: file("#src/http/docs/docs.css"), type: "text/css; charset=utf-8", before: `${tokensSheet}\n` },
  "docs.js": { path: file("#src/http/docs/browser.js"), type: "text/javascript; charset=utf-8" },
  "icon.svg": { path: file("#src/http/web/assets/icon.svg"), type: "image/svg+xml" },
};

/** /docs: the introduction, the guides and the API reference, all without requests to other hosts; /llms.txt for models. */
export function docsPages(
  { title, document }: { title: string; document: () => Document },
  declared: Declared,
): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const tags = (): string[] => document().tags.map(({ name }) => name);
  // Pages and files never change while the process runs: each is made or read at its first request.
  const made = new Map<string, Promise<Reply>>();
  const once = (path: string, make: () => Promise<Reply>): Promise<Reply> => {
    if (!made.has(path)) made.set(path, make());
    return made.get(path) as Promise<Reply>;
  };
  const serve = (path: string, make: () => Promise<Reply>) =>
    router.get(path, async (_, response) => send(response, await once(path, make)));

  // The renderers are loaded with the first page, so that the start does not wait for them.
  serve("/docs", async () => {
    const [{ renderMarkdown }, { callList }] = [await import("./markdown.ts"), await import("./apiReference.ts")];
    const { info } = document();
    const main = html`<h1>${info.title}</h1>\n${renderMarkdown(info.description)}\n${callList(document())}`;
    return pageInFrame({ title: `${title}: introduction`, path: "/docs", tags: tags() }, main);
  });
  for (const name of Object.keys(documents)) {
    serve(`/docs/${name}`, async () => {
      const { renderMarkdown } = await import("./markdown.ts");
      const text = withTables(documentText(name), allTables(declared));
      const heading = /^# (.+)$/m.exec(text)?.[1] ?? name;
      return pageInFrame({ title: heading, path: `/docs/${name}`, tags: tags() }, renderMarkdown(text));
    });
  }
  router.get("/docs/api/:tag", async ({ params: { tag } }, response, next) => {
    if (!tags().includes(tag)) return next();
    const page = await once(`/docs/api/${tag}`, async () => {
      const { callsPage } = await import("./apiReference.ts");
      const frame = { title: `${title}: ${tag}`, path: `/docs/api/${tag}`, tags: tags(), script: true };
      return pageInFrame(frame, callsPage(tag, document()));
    });
    await send(response, page);
  });
  for (const [name, { path, type, before = "" }] of Object.entries(files)) {
    serve(`/docs/${name}`, async () => {
      const headers = { "Content-Type": type, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache" };
      return reply({ bytes: Buffer.concat([Buffer.from(before), await readFile(path)]), headers });
    });
  }
  router.get("/llms.txt", (_, response) => send(response, plain(llmsText(document()))));
  return router;
}

const plain = (text: string): Reply =>
  reply({
    bytes: Buffer.from(text),
    headers: { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" },
  });
