import express, { type Request, type Response, type Router } from "express";
import type { ApprovalLists } from "#src/channels/approvalList.ts";
import { answerPage as answer } from "../web/linkPages.ts";
import { listPage } from "./listPage.ts";
import * as pages from "./outcomePages.ts";
import { type ApprovalPagesOptions, answerUnknown, failed } from "./router.ts";

type Options = ApprovalLists & Pick<ApprovalPagesOptions, "clock" | "countUnknown" | "onError">;

/** The page behind a mail about several drafts. GET and HEAD of `/l/:token` show it, and nothing else can be done with it. */
export function approvalListPages(options: Options): Router {
  const router = express.Router();
  router
    .route("/l/:token")
    .get(async (request, response) => show(options, request, response))
    .all((_, response) => answer(response.setHeader("Allow", "GET, HEAD"), 405, pages.methodPage()));
  router.use("/l", failed(options));
  return router;
}

async function show(options: Options, request: Request, response: Response): Promise<void> {
  const token = String(request.params.token);
  const page = pageOf(request.query.page);
  const list = /^[\w-]{43}$/.test(token) && page !== undefined ? await options.list(token, page) : undefined;
  if (!list) return answerUnknown(options, request, response);
  if (options.clock.now().getTime() >= Date.parse(list.expiresAt) || list.drafts.every(isElsewhere)) {
    return answer(response, 410, pages.expiredPage());
  }
  answer(response, 200, listPage(list));
}

const isElsewhere = ({ state }: { state: { kind: string } }): boolean => state.kind === "elsewhere";

/** From 1; undefined for what is no number of a page. */
function pageOf(given: unknown): number | undefined {
  if (given === undefined) return 1;
  return typeof given === "string" && /^[1-9]\d{0,3}$/.test(given) ? Number(given) : undefined;
}
