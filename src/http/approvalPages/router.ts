import express, { type ErrorRequestHandler, type Request, type Response, type Router } from "express";
import type { ApprovalDecisions, DecisionResult, LinkedApproval } from "#src/channels/approvalDecisions.ts";
import type { Decision } from "#src/channels/approvalView.ts";
import type { Clock } from "#src/clock.ts";
import { Unavailable } from "#src/eventStore/eventStore.ts";
import { errorHandler } from "../framework/errorHandler.ts";
import { answerPage as answer, answerUnknownLink, callerOf } from "../web/linkPages.ts";
import { attachmentDownload } from "./attachmentDownload.ts";
import { isToken, maxFormBytes, readForm } from "./form.ts";
import { checkNonce, issueNonce } from "./nonce.ts";
import * as pages from "./outcomePages.ts";
import { reviewPage } from "./reviewPage.ts";

export type ApprovalPagesOptions = ApprovalDecisions & {
  /** A secret of at least 32 bytes, the same in every instance of the service. */
  nonceKey: Buffer;
  clock: Pick<Clock, "now">;
  /** Counts a link that there is not; throws Rejected rate_limited when its sender has tried too many. */
  countUnknown?: (request: Request) => Promise<void>;
  /** Called with errors that are our own fault. */
  onError?: (error: unknown, request: Request) => void;
};

/**
 * The pages behind an approval mail's links. GET and HEAD of `/a/:token` show and never change anything; POST decides, with
 * the nonce of a page that was opened within the last hour.
 */
export function approvalPages(options: ApprovalPagesOptions): Router {
  const router = express.Router();
  const form = express.urlencoded({ extended: false, limit: maxFormBytes, parameterLimit: 20, inflate: false });
  router
    .route("/a/:token")
    .get(async (request, response) => show(options, request, response))
    .post(form, async (request, response) => press(options, request, response))
    .all((_, response) => answer(response.setHeader("Allow", "GET, HEAD, POST"), 405, pages.methodPage()));
  const download = attachmentDownload({
    attachment: options.attachment,
    answerUnknown: (request, response) => answerUnknown(options, request, response),
    answerWithout: (request, response) => answerWithoutFile(options, request, response),
  });
  router
    .route("/a/:token/attachments/:n")
    .get(download)
    .all((_, response) => answer(response.setHeader("Allow", "GET, HEAD"), 405, pages.methodPage()));
  router.use("/a", failed(options));
  return router;
}

async function show(options: ApprovalPagesOptions, request: Request, response: Response): Promise<void> {
  const link = await find(options, request);
  if (!link) return answerUnknown(options, request, response);
  const closed = closedPage(options, link);
  if (closed) return answer(response, closed.status, closed.page);
  answer(response, 200, review(options, request, { link }));
}

async function press(options: ApprovalPagesOptions, request: Request, response: Response): Promise<void> {
  const link = await find(options, request);
  if (!link) return answerUnknown(options, request, response);
  const closed = closedPage(options, link);
  if (closed) return answer(response, closed.status, closed.page);

  const form = readForm(request.body);
  if ("refused" in form) {
    return answer(response, 422, review(options, request, { link, notice: form.refused, reason: form.reason }));
  }
  const { decision, nonce, reason, code } = form;
  const pressed = { ...link, token: tokenOf(request), decision };
  const judged = checkNonce(options.nonceKey, pressed, { nonce, nowMs: options.clock.now().getTime() });
  if (judged !== "good") {
    const why =
      judged === "expired"
        ? "This page was open for more than an hour."
        : "The button press did not come from this page.";
    const notice = `${why} Please check the draft again and press the button once more.`;
    return answer(response, 403, review(options, request, { link, notice, reason }));
  }
  const result = await options.decide({ token: pressed.token, decision, reason, code, ...callerOf(request) });
  if (result.kind === "code_missing" || result.kind === "code_wrong") {
    const status = result.kind === "code_wrong" ? 403 : 422;
    return answer(response, status, review(options, request, { link, notice: codeNotice(result), reason }));
  }
  const { status, page } = resultPage(result, link);
  answer(response, status, page);
}

type CodeRefused = Extract<DecisionResult, { kind: "code_missing" | "code_wrong" }>;

function codeNotice(result: CodeRefused): string {
  if (result.kind === "code_missing") {
    return "Please type the four digits from the approval mail whose link you followed, and press the button again.";
  }
  const { triesLeft } = result;
  const left = triesLeft === 1 ? "One try is left" : `${triesLeft} tries are left`;
  return `This is not the code of the approval mail whose link you followed. ${left} before this link is closed.`;
}

/** The page of a link that shows nothing any more; otherwise there is no such file. */
async function answerWithoutFile(options: ApprovalPagesOptions, request: Request, response: Response): Promise<void> {
  const link = await find(options, request);
  const closed = link && closedPage(options, link);
  if (closed && closed.status !== 200) return answer(response, closed.status, closed.page);
  answer(response, 404, pages.unknownPage());
}

async function find({ find }: ApprovalPagesOptions, request: Request): Promise<LinkedApproval | undefined> {
  const token = tokenOf(request);
  return isToken(token) ? find(token) : undefined;
}

export const answerUnknown = (
  { countUnknown }: Pick<ApprovalPagesOptions, "countUnknown">,
  request: Request,
  response: Response,
): Promise<void> => answerUnknownLink(request, response, { countUnknown, pages });

const tokenOf = (request: Request): string => String(request.params.token);

type Answer = { status: number; page: string };

/** What a link shows that decides nothing any more; undefined while it does. Past its time it shows no content. */
function closedPage({ clock }: ApprovalPagesOptions, link: LinkedApproval): Answer | undefined {
  const expired = clock.now().getTime() >= Date.parse(link.expiresAt);
  if (link.closed) return { status: 410, page: pages.closedPage(link.closed) };
  if (link.superseded)
    return { status: expired ? 410 : 409, page: expired ? pages.expiredPage() : pages.changedPage() };
  if (link.decided) return { status: 200, page: pages.recordedPage(link, link.decided, !expired) };
  return expired ? { status: 410, page: pages.expiredPage() } : undefined;
}

function review(
  options: ApprovalPagesOptions,
  request: Request,
  { link, notice, reason }: { link: LinkedApproval; notice?: string; reason?: string },
): string {
  const nonceFor = (decision: Decision) =>
    issueNonce(options.nonceKey, { ...link, token: tokenOf(request), decision }, options.clock.now().getTime());
  return reviewPage(link, {
    first: link.action,
    nonces: { approve: nonceFor("approve"), reject: nonceFor("reject") },
    asksCode: typeof link.codeTriesLeft === "number",
    notice,
    reason,
  });
}

function resultPage(result: Exclude<DecisionResult, CodeRefused>, link: LinkedApproval): Answer {
  switch (result.kind) {
    case "approved":
      return { status: 200, page: pages.approvedPage(result, link) };
    case "vote_counted":
      return { status: 200, page: pages.countedPage(result.approvals, result.again, link) };
    case "rejected":
      return { status: 200, page: pages.rejectedPage(link) };
    case "already_decided":
      return {
        status: 200,
        page: result.view.decided ? pages.recordedPage(result.view, result.view.decided, true) : pages.changedPage(),
      };
    case "changed":
      return { status: 409, page: pages.changedPage() };
    case "stale":
      return { status: 409, page: pages.stalePage(result.newer, link) };
    case "expired":
      return { status: 410, page: pages.expiredPage() };
    case "closed":
      return { status: 410, page: pages.closedPage(result.because) };
    case "in_chat_only":
      return { status: 409, page: pages.inChatOnlyPage() };
    case "unknown":
      return { status: 404, page: pages.unknownPage() };
  }
}

export const failed = ({ onError }: Pick<ApprovalPagesOptions, "onError">): ErrorRequestHandler =>
  errorHandler(({ error, request, response }) => {
    // A download that stopped in the middle: cut off, so that nobody takes it for the whole file.
    if (response.headersSent) {
      onError?.(error, request);
      return void response.destroy();
    }
    const { status } = error as { status?: unknown };
    if (error instanceof Unavailable) {
      const { retryAfter = 2 } = error as { retryAfter?: number };
      return answer(
        response.setHeader("Retry-After", String(retryAfter)),
        503,
        pages.unavailablePage(request.method === "POST"),
      );
    }
    // The form could not be read: too large, or no form at all.
    if (typeof status === "number" && status >= 400 && status < 500)
      return answer(response, status, pages.unreadablePage(status));
    onError?.(error, request);
    answer(response, 500, pages.brokenPage());
  });
