import type { Response } from "express";
import { consoleHeaders } from "./layout.ts";

export function answerDocument(response: Response, status: number, document: string): void {
  response.status(status).set(consoleHeaders).send(document);
}

/** The browser is to look at another page. */
export function leadTo(response: Response, path: string): void {
  answerDocument(response.setHeader("Location", path), 303, "");
}
