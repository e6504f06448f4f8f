import express, { type Request, type RequestHandler, type Router } from "express";
import type { FetchedFile, LinkedApproval } from "#src/channels/approvalDecisions.ts";
import { refusalHandler } from "../framework/entryPoint.ts";
import type { Reply } from "../framework/reply.ts";
import { callerOf, linkEntryPoint, linkPage, onLink, onlyMethods } from "../web/linkPages.ts";
import { pressEdit } from "./edits.ts";
import { isToken, maxEditFormBytes, maxFormBytes, nonceOf, readEditForm, readForm } from "./form.ts";
import { checkNonce } from "./nonce.ts";
import * as pages from "./outcomePages.ts";
import { pressRenew } from "./renewals.ts";
import {
  type ApprovalPagesOptions,
  closedPage,
  codeNotice,
  isCodeRefused,
  isExpired,
  isUndoable,
  notFromPage,
  resultPage,
  review,
  tokenOf,
  wayOn,
} from "./replies.ts";
import { sendFile } from "./sendFile.ts";
import { notUndonePage, tooLatePage, undonePage } from "./undoPages.ts";

/**
 * The pages behind an approval mail's links. GET and HEAD of `/a/:token` never change anything; POST decides, undoes, or has the holder of
 * an expired link asked again, and needs the nonce of a page opened within the last hour. `?list=` names the list that the page was opened from.
 */
export function approvalPages(options: ApprovalPagesOptions): Router {
  const router = express.Router();
  const formOf = (limit: number) => express.urlencoded({ extended: false, limit, parameterLimit: 20, inflate: false });
  const [usual, large] = [formOf(maxFormBytes), formOf(maxEditFormBytes)];
  const form: RequestHandler = (request, response, next) =>
    (request.query.edit === undefined ? usual : large)(request, response, next);
  const entryPoint = linkEntryPoint((request) => find(options, request), pages, options);
  const at = (work: (options: ApprovalPagesOptions, request: Request, link: LinkedApproval) => Promise<Reply>) =>
    onLink(entryPoint, async (link, { request }) => work(options, request, link));
  router.route("/a/:token").get(at(show)).post(form, at(press)).all(onlyMethods("GET, HEAD, POST", pages));
  router.route("/a/:token/attachments/:n").get(download(options)).all(onlyMethods("GET, HEAD", pages));
  router.use("/a", refusalHandler(entryPoint));
  return router;
}

async function show(options: ApprovalPagesOptions, request: Request, link: LinkedApproval): Promise<Reply> {
  const closed = await closedPage(options, request, link);
  if (closed) return closed;
  return link.namedOnly
    ? linkPage(303, pages.signInPage(link), { Location: pages.consolePathOf(link) })
    : linkPage(200, review(options, request, { link }));
}

async function press(options: ApprovalPagesOptions, request: Request, link: LinkedApproval): Promise<Reply> {
  const renewNonce = nonceOf("renew", request.body);
  if (renewNonce !== undefined)
    return isExpired(options, link) ? pressRenew(options, request, renewNonce) : show(options, request, link);
  const undoNonce = nonceOf("undo", request.body);
  if (undoNonce !== undefined) return undo(options, request, { link, nonce: undoNonce });
  const edit = readEditForm(request.body);
  // An edit answers an open request for changes, which closes all other buttons.
  const closed = await closedPage(options, request, edit ? { ...link, changesRequested: null } : link);
  if (closed) return closed;
  if (link.namedOnly) return linkPage(409, pages.signInPage(link));
  if (edit) return pressEdit(options, request, { link, form: edit });
  const form = readForm(request.body);
  if ("refused" in form)
    return linkPage(422, review(options, request, { link, notice: form.refused, reason: form.reason }));
  const { decision, nonce, reason, code } = form;
  const pressed = { ...link, token: tokenOf(request), decision };
  const judged = checkNonce(options.nonceKey, pressed, { nonce, nowMs: options.clock.now().getTime() });
  if (judged !== "good") return linkPage(403, review(options, request, { link, notice: notFromPage[judged], reason }));
  const result = await options.decide({
    ...{ token: pressed.token, decision, reason, code, undoable: true },
    ...callerOf(request),
  });
  if (isCodeRefused(result)) {
    const status = result.kind === "code_wrong" ? 403 : 422;
    return linkPage(status, review(options, request, { link, notice: codeNotice(result), reason }));
  }
  return resultPage(result, link, await wayOn(options, request, { link, undoable: isUndoable(result) }));
}

/** Undoes the link's own approval. The page's other checks do not apply: a decided draft's page shows only its outcome. */
async function undo(
  options: ApprovalPagesOptions,
  request: Request,
  { link, nonce }: { link: LinkedApproval; nonce: string },
): Promise<Reply> {
  const pressed = { ...link, token: tokenOf(request), decision: "undo" } as const;
  if (checkNonce(options.nonceKey, pressed, { nonce, nowMs: options.clock.now().getTime() }) !== "good")
    return linkPage(403, notUndonePage());
  const result = await options.undo({ token: pressed.token, ...callerOf(request) });
  switch (result.kind) {
    case "undone":
      return linkPage(200, undonePage(link, await wayOn(options, request, { link, undoable: false })));
    case "too_late": {
      const { view } = result;
      return linkPage(409, view.decided ? tooLatePage(view, view.decided) : pages.changedPage());
    }
    default:
      return resultPage(result, link, {});
  }
}

/** Downloads a draft's file. If the link gives no access to files any more, answers the link's closing page. */
function download(options: ApprovalPagesOptions): RequestHandler {
  const entryPoint = linkEntryPoint(async (request) => fileOf(options, request), pages, options);
  return onLink(entryPoint, async (file, { request, response }) => {
    if (file) return sendFile(file, { request, response });
    const link = await find(options, request);
    const closed = link && (await closedPage(options, request, link));
    return closed && closed.status !== 200 ? closed : linkPage(404, pages.unknownPage());
  });
}

/** The file in the path: null if the link gives no access to it, undefined if the link does not exist. */
async function fileOf({ attachment }: ApprovalPagesOptions, request: Request): Promise<FetchedFile | null | undefined> {
  const n = String(request.params.n);
  return isToken(tokenOf(request)) ? attachment(tokenOf(request), /^[1-9]\d{0,2}$/.test(n) ? Number(n) : 0) : undefined;
}

async function find({ find }: ApprovalPagesOptions, request: Request): Promise<LinkedApproval | undefined> {
  const token = tokenOf(request);
  return isToken(token) ? find(token) : undefined;
}
