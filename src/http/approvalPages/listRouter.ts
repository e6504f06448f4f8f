import express, { type Request, type Router } from "express";
import type { ApprovalList, ApprovalLists } from "#src/channels/approvalList.ts";
import { refusalHandler } from "../framework/entryPoint.ts";
import { linkEntryPoint, linkPage, onLink, onlyMethods } from "../web/linkPages.ts";
import { isListToken } from "./form.ts";
import { listPage } from "./listPage.ts";
import * as pages from "./outcomePages.ts";
import type { ApprovalPagesOptions } from "./replies.ts";

type Options = Pick<ApprovalLists, "list"> & Pick<ApprovalPagesOptions, "clock" | "countUnknown" | "onError">;

/** The page behind a mail about several drafts. GET and HEAD of `/l/:token` show it; there is no other action. */
export function approvalListPages(options: Options): Router {
  const router = express.Router();
  const entryPoint = linkEntryPoint((request) => find(options, request), pages, options);
  const show = onLink(entryPoint, async (list, { request }) => {
    const isOver = options.clock.now().getTime() >= Date.parse(list.expiresAt) || list.drafts.every(isElsewhere);
    return isOver ? linkPage(410, pages.expiredPage()) : linkPage(200, listPage(list, String(request.params.token)));
  });
  router.route("/l/:token").get(show).all(onlyMethods("GET, HEAD", pages));
  router.use("/l", refusalHandler(entryPoint));
  return router;
}

async function find({ list }: Options, { params, query }: Request): Promise<ApprovalList | undefined> {
  const token = String(params.token);
  const page = pageOf(query.page);
  return isListToken(token) && page !== undefined ? list(token, page) : undefined;
}

const isElsewhere = ({ state }: { state: { kind: string } }): boolean => state.kind === "elsewhere";

/** The page number, from 1; undefined if it is not one. */
function pageOf(given: unknown): number | undefined {
  if (given === undefined) return 1;
  return typeof given === "string" && /^[1-9]\d{0,3}$/.test(given) ? Number(given) : undefined;
}
