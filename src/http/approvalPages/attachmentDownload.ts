import type { Request, RequestHandler, Response } from "express";
import type { ApprovalDecisions } from "#src/channels/approvalView.ts";
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
    response.status(200).set({
      ...pageHeaders,
      ...fileHeaders({ contentType: "application/octet-stream", filename: file.name }),
      "Content-Length": String(file.size),
    });
    response.end(request.method === "HEAD" ? undefined : await file.bytes());
  };
