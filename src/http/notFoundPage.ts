import type { RequestHandler } from "express";
import { html } from "#src/html/html.ts";
import { page, pageHeaders } from "#src/html/page.ts";

const forPrograms = /^\/(v1|mcp|auth|hooks|openapi\.json)(\/|$)/;

/** Answers a browser that opens an address without a page: 404 with a page. Programs get their answer from the next handler. */
export const notFoundPage: RequestHandler = (request, response, next) => {
  const isRead = request.method === "GET" || request.method === "HEAD";
  // A program that accepts everything gets JSON: only a browser prefers HTML.
  if (!isRead || forPrograms.test(request.path) || request.accepts(["json", "html"]) !== "html") return next();
  response.status(404).set(pageHeaders).vary("Accept").send(notFound);
};

const notFound = page({
  title: "No such page",
  main: html`<section class="outcome bad"><h1>There is no such page</h1>
<p>Check the address, or begin at the <a href="/">start page</a>.</p></section>`,
});
