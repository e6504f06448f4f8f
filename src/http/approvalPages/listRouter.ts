import express, { type Request, type Router } from "express";
import type { ApprovalList, ApprovalLists } from "#src/channels/approvalList.ts";
import { refusalHandler } from "../framework/entryPoint.ts";
import { linkEntryPoint, linkPage, onLink, onlyMethods } from "../web/linkPages.ts";
import { isListToken, maxFormBytes, nonceOf } from "./form.ts";
import { listPage } from "./listPage.ts";
import * as pages from "./outcomePages.ts";
import { expiredReply, pressRenew, type RenewalOptions } from "./renewals.ts";
import { type ApprovalPagesOptions, isExpired } from "./replies.ts";

type Options = Pick<ApprovalLists, "list"> & RenewalOptions & Pick<ApprovalPagesOptions, "countUnknown" | "onError">;

const onlyShown = "GET, HEAD";

/**
 * The page behind a mail about several drafts. GET and HEAD of `/l/:token` show it and never change anything. POST has the holder of an
 * expired list asked again; a list that has not expired has no action.
 */
export function approvalListPages(options: Options): Router {
  const router = express.Router();
  const entryPoint = linkEntryPoint((request) => find(options, request), pages, options);
  const form = express.urlencoded({ extended: false, limit: maxFormBytes, parameterLimit: 20, inflate: false });
  const isOver = (list: ApprovalList) => isExpired(options, list) || list.drafts.every(isElsewhere);
  const show = onLink(entryPoint, async (list, { request }) =>
    isOver(list) ? expiredReply(options, request) : linkPage(200, listPage(list, String(request.params.token))),
  );
  const press = onLink(entryPoint, async (list, { request }) =>
    isOver(list)
      ? pressRenew(options, request, nonceOf("renew", request.body) ?? "")
      : linkPage(405, pages.methodPage(), { Allow: onlyShown }),
  );
  router.route("/l/:token").get(show).post(form, press).all(onlyMethods(onlyShown, pages));
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
