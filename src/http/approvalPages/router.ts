import express, { type Request, type RequestHandler, type Router } from "express";
import type {
  ApprovalDecisions,
  DecisionResult,
  FetchedFile,
  LinkedApproval,
} from "#src/channels/approvalDecisions.ts";
import type { ApprovalLists } from "#src/channels/approvalList.ts";
import type { ApproverChoice } from "#src/channels/approvalView.ts";
import type { Clock } from "#src/platform/clock.ts";
import { refusalHandler } from "../framework/entryPoint.ts";
import type { Reply } from "../framework/reply.ts";
import { type CountUnknown, callerOf, linkEntryPoint, linkPage, onLink, onlyMethods } from "../web/linkPages.ts";
import { isListToken, isToken, maxFormBytes, readForm, undoNonceIn } from "./form.ts";
import { checkNonce, issueNonce } from "./nonce.ts";
import * as pages from "./outcomePages.ts";
import { reviewPage } from "./reviewPage.ts";
import { sendFile } from "./sendFile.ts";
import { notUndonePage, tooLatePage, undonePage } from "./undoPages.ts";
import type { WayOn } from "./wayOn.ts";

export type ApprovalPagesOptions = ApprovalDecisions &
  Pick<ApprovalLists, "next"> & {
    /** A secret of at least 32 bytes, equal in all instances of the service. */
    nonceKey: Buffer;
    clock: Pick<Clock, "now">;
    countUnknown?: CountUnknown;
    /** Called with internal errors. */
    onError?: (error: unknown, request: Request) => void;
  };

/**
 * The pages behind an approval mail's links. GET and HEAD of `/a/:token` never change anything; POST decides or undoes, and needs the nonce
 * of a page opened within the last hour. `?list=` names the list that the page was opened from.
 */
export function approvalPages(options: ApprovalPagesOptions): Router {
  const router = express.Router();
  const form = express.urlencoded({ extended: false, limit: maxFormBytes, parameterLimit: 20, inflate: false });
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
  const undoNonce = undoNonceIn(request.body);
  if (undoNonce !== undefined) return undo(options, request, { link, nonce: undoNonce });
  const closed = await closedPage(options, request, link);
  if (closed) return closed;
  if (link.namedOnly) return linkPage(409, pages.signInPage(link));
  const form = readForm(request.body);
  if ("refused" in form)
    return linkPage(422, review(options, request, { link, notice: form.refused, reason: form.reason }));
  const { decision, nonce, reason, code } = form;
  const pressed = { ...link, token: tokenOf(request), decision };
  const judged = checkNonce(options.nonceKey, pressed, { nonce, nowMs: options.clock.now().getTime() });
  if (judged !== "good") {
    const why =
      judged === "expired"
        ? "This page was open for more than an hour."
        : "The button press did not come from this page.";
    const notice = `${why} Please check the draft again and press the button again.`;
    return linkPage(403, review(options, request, { link, notice, reason }));
  }
  const result = await options.decide({
    ...{ token: pressed.token, decision, reason, code, undoable: true },
    ...callerOf(request),
  });
  if (result.kind === "code_missing" || result.kind === "code_wrong") {
    const status = result.kind === "code_wrong" ? 403 : 422;
    return linkPage(status, review(options, request, { link, notice: codeNotice(result), reason }));
  }
  const undoable = result.kind === "approved" ? result.undoUntil !== undefined : result.kind === "vote_counted";
  return resultPage(result, link, await wayOn(options, request, { link, undoable }));
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

/** Returns the offers of an outcome page. A fault of the list only leaves out the way to the next draft. */
async function wayOn(
  options: ApprovalPagesOptions,
  request: Request,
  { link, undoable }: { link: LinkedApproval; undoable: boolean },
): Promise<WayOn> {
  const token = tokenOf(request);
  const pressed = { ...link, token, decision: "undo" } as const;
  const { list: listToken } = request.query;
  const isList = typeof listToken === "string" && isListToken(listToken);
  const next = isList ? await options.next(listToken, token).catch(() => undefined) : undefined;
  return {
    ...(undoable && { undoNonce: issueNonce(options.nonceKey, pressed, options.clock.now().getTime()) }),
    ...(isList && next && { list: { token: listToken, next } }),
  };
}

type CodeRefused = Extract<DecisionResult, { kind: "code_missing" | "code_wrong" }>;

function codeNotice(result: CodeRefused): string {
  if (result.kind === "code_missing") {
    return "Please type the four digits from the approval mail whose link you followed, and press the button again.";
  }
  const { triesLeft } = result;
  const left = triesLeft === 1 ? "You have one try left" : `You have ${triesLeft} tries left`;
  return `This is not the code of the approval mail whose link you followed. ${left} before this link is closed.`;
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

const tokenOf = (request: Request): string => String(request.params.token);

/** The page of a link that cannot decide any more; undefined if it can. An expired link shows no content. */
async function closedPage(
  options: ApprovalPagesOptions,
  request: Request,
  link: LinkedApproval,
): Promise<Reply | undefined> {
  const expired = options.clock.now().getTime() >= Date.parse(link.expiresAt);
  if (link.closed) return linkPage(410, pages.closedPage(link.closed));
  if (link.superseded) return expired ? linkPage(410, pages.expiredPage()) : linkPage(409, pages.changedPage());
  if (link.decided) {
    const undoable = typeof link.undoUntil === "string" && !expired;
    const offers = expired ? undefined : await wayOn(options, request, { link, undoable });
    return linkPage(200, pages.recordedPage(link, link.decided, offers));
  }
  if (expired) return linkPage(410, pages.expiredPage());
  return link.changesRequested ? linkPage(200, pages.changesRequestedPage(link, link.changesRequested)) : undefined;
}

function review(
  options: ApprovalPagesOptions,
  request: Request,
  { link, notice, reason }: { link: LinkedApproval; notice?: string; reason?: string },
): string {
  const nonceFor = (decision: ApproverChoice) =>
    issueNonce(options.nonceKey, { ...link, token: tokenOf(request), decision }, options.clock.now().getTime());
  return reviewPage(link, {
    first: link.action,
    nonces: {
      approve: nonceFor("approve"),
      reject: nonceFor("reject"),
      request_changes: nonceFor("request_changes"),
    },
    asksCode: typeof link.codeTriesLeft === "number",
    inChatOnly: link.inChatOnly === true,
    notice,
    reason,
  });
}

function resultPage(result: Exclude<DecisionResult, CodeRefused>, link: LinkedApproval, offers: WayOn): Reply {
  switch (result.kind) {
    case "approved":
      return linkPage(200, pages.approvedPage(result, link, offers));
    case "vote_counted":
      return linkPage(200, pages.countedPage(result, link, offers));
    case "rejected":
      return linkPage(200, pages.rejectedPage(link, offers));
    case "changes_requested": {
      const { changesRequested } = result.view;
      if (!changesRequested) return linkPage(409, pages.changedPage());
      return linkPage(200, pages.changesRequestedPage(result.view, changesRequested, { isOwn: !result.again, offers }));
    }
    case "already_decided": {
      const { view } = result;
      return linkPage(200, view.decided ? pages.recordedPage(view, view.decided, offers) : pages.changedPage());
    }
    case "changed":
      return linkPage(409, pages.changedPage());
    case "stale":
      return linkPage(409, pages.stalePage(result.newer, link));
    case "expired":
      return linkPage(410, pages.expiredPage());
    case "closed":
      return linkPage(410, pages.closedPage(result.because));
    case "in_chat_only":
      return linkPage(409, pages.inChatOnlyPage());
    case "sign_in_required":
      return linkPage(409, pages.signInPage(link));
    case "unknown":
      return linkPage(404, pages.unknownPage());
  }
}
