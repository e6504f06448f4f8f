import type { Request, Response } from "express";
import type { FetchedFile } from "#src/channels/approvalDecisions.ts";
import { pageHeaders } from "#src/html/page.ts";
import { fileHeaders } from "../present/files.ts";

/** Sends a draft's file for download, never for display, as application/octet-stream. */
export async function sendFile(file: FetchedFile, { request, response }: { request: Request; response: Response }) {
  if (request.method === "HEAD") begin(response, file).end();
  else await sendParts(response, file);
  return undefined;
}

/** Reads only as fast as the client downloads: a slow client keeps one part in memory, not the whole file. */
async function sendParts(response: Response, file: FetchedFile): Promise<void> {
  for await (const part of file.parts()) {
    if (response.destroyed) return;
    // Headers are sent with the first part: until then an error can be answered with its page.
    if (!response.headersSent) begin(response, file);
    if (!response.write(part)) await drained(response);
  }
  if (!response.headersSent) begin(response, file);
  response.end();
}

const begin = (response: Response, { name, size }: FetchedFile): Response =>
  response.status(200).set({
    ...pageHeaders,
    ...fileHeaders({ contentType: "application/octet-stream", filename: name }),
    "Content-Length": String(size),
  });

/** Resolves when the response can take more data, or is closed. */
const drained = (response: Response): Promise<void> =>
  new Promise((resolve) => {
    const goOn = () => {
      response.off("drain", goOn).off("close", goOn);
      resolve();
    };
    response.on("drain", goOn).on("close", goOn);
  });
