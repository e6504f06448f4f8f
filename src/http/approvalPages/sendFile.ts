import type { Request, Response } from "express";
import type { FetchedFile } from "#src/channels/approvalDecisions.ts";
import { pageHeaders } from "#src/html/page.ts";
import { fileHeaders } from "../present/files.ts";

/** Answers with a draft's file, to be kept and never shown in place, under no type but bytes. */
export async function sendFile(file: FetchedFile, { request, response }: { request: Request; response: Response }) {
  if (request.method === "HEAD") begin(response, file).end();
  else await sendParts(response, file);
  return undefined;
}

/** Reads no further than the one who fetches it has got: a slow one holds a part of it in memory, not the whole. */
async function sendParts(response: Response, file: FetchedFile): Promise<void> {
  for await (const part of file.parts()) {
    if (response.destroyed) return;
    // Not before there is something to send: until then an error has a page of its own.
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

/** Also where nobody fetches it any more. */
const drained = (response: Response): Promise<void> =>
  new Promise((resolve) => {
    const goOn = () => {
      response.off("drain", goOn).off("close", goOn);
      resolve();
    };
    response.on("drain", goOn).on("close", goOn);
  });
