import type { Request, RequestHandler, Response } from "express";
import type { ApprovalDecisions, FetchedFile } from "#src/channels/approvalDecisions.ts";
import { pageHeaders } from "#src/html/page.ts";
import { fileHeaders } from "../present/files.ts";
import { isToken } from "./form.ts";

type Asked = Request<{ token: string; n: string }>;

type Options = Pick<ApprovalDecisions, "attachment"> & {
  /** Answers where there is no such link. */
  answerUnknown(request: Request, response: Response): Promise<void>;
  /** Answers where a link shows no such file. */
  answerWithout(request: Request, response: Response): Promise<void>;
};

/**
 * `GET` and `HEAD /a/:token/attachments/:n`: a draft's file for its approver, always to be kept and never shown in place, under no type but
 * bytes. It decides nothing and writes nothing.
 */
export const attachmentDownload =
  ({ attachment, answerUnknown, answerWithout }: Options): RequestHandler<{ token: string; n: string }> =>
  async (request: Asked, response) => {
    const { token, n } = request.params;
    const file = isToken(token) ? await attachment(token, /^[1-9]\d{0,2}$/.test(n) ? Number(n) : 0) : undefined;
    if (file === undefined) return answerUnknown(request, response);
    if (file === null) return answerWithout(request, response);
    if (request.method === "HEAD") return void begin(response, file).end();
    await sendParts(response, file);
  };

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
