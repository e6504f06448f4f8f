import type { Request } from "express";
import type { ApprovalDecisions, CodeRefused, LinkedApproval, LinkResult } from "#src/channels/approvalDecisions.ts";
import type { ApprovalLists } from "#src/channels/approvalList.ts";
import type { ApproverChoice } from "#src/channels/approvalView.ts";
import type { Reply } from "../framework/reply.ts";
import { type CountUnknown, linkPage } from "../web/linkPages.ts";
import type { EditFormOptions } from "./editPages.ts";
import { isListToken } from "./form.ts";
import { issueNonce } from "./nonce.ts";
import * as pages from "./outcomePages.ts";
import { expiredReply, type RenewalOptions } from "./renewals.ts";
import { reviewPage } from "./reviewPage.ts";
import type { WayOn } from "./wayOn.ts";

export type ApprovalPagesOptions = ApprovalDecisions &
  RenewalOptions &
  Pick<ApprovalLists, "next"> & {
    countUnknown?: CountUnknown;
    /** Called with internal errors. */
    onError?: (error: unknown, request: Request) => void;
  };

export const isExpired = ({ clock }: Pick<ApprovalPagesOptions, "clock">, { expiresAt }: { expiresAt: string }) =>
  clock.now().getTime() >= Date.parse(expiresAt);

export const tokenOf = (request: Request): string => String(request.params.token);

/** The page of a link that cannot decide any more; undefined if it can. An expired link shows no content. */
export async function closedPage(
  options: ApprovalPagesOptions,
  request: Request,
  link: LinkedApproval,
): Promise<Reply | undefined> {
  const expired = isExpired(options, link);
  if (link.closed) return linkPage(410, pages.closedPage(link.closed));
  if (link.superseded) return expired ? expiredReply(options, request) : linkPage(409, pages.changedPage());
  if (link.ownEdit && !link.decided) {
    const offers = expired ? {} : await wayOn(options, request, { link, undoable: true });
    return linkPage(200, pages.ownEditPage(link, offers));
  }
  if (link.decided) {
    const undoable = typeof link.undoUntil === "string" && !expired;
    const offers = expired ? undefined : await wayOn(options, request, { link, undoable });
    return linkPage(200, pages.recordedPage(link, link.decided, offers));
  }
  if (expired) return expiredReply(options, request);
  return link.changesRequested ? linkPage(200, pages.changesRequestedPage(link, link.changesRequested)) : undefined;
}

export function review(
  options: ApprovalPagesOptions,
  request: Request,
  { link, notice, reason, edit }: { link: LinkedApproval; notice?: string; reason?: string; edit?: TypedEdit },
): string {
  const nonceFor = (decision: ApproverChoice | "edit") =>
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
    ...(link.editing === "here" && { edit: { action: editAction(request), nonce: nonceFor("edit"), ...edit } }),
    editInConsole: link.editing === "console",
  });
}

/** An edit that was not made, to be shown again. */
type TypedEdit = Omit<EditFormOptions, "nonce" | "action">;

/** The page's own address, with a query that allows a large form. Relative, so that it works under any base path. */
export function editAction(request: Request): string {
  const { list } = request.query;
  return `?edit=1${typeof list === "string" && isListToken(list) ? `&list=${list}` : ""}`;
}

/** Why a form without a good nonce did not count. */
export const notFromPage = {
  expired: "This page was open for more than an hour. Please check the draft again and press the button again.",
  wrong: "The button press did not come from this page. Please check the draft again and press the button again.",
} as const;

export const isCodeRefused = (result: { kind: string }): result is CodeRefused =>
  result.kind === "code_missing" || result.kind === "code_wrong";

export function codeNotice(result: CodeRefused): string {
  if (result.kind === "code_missing") {
    return "Please type the four digits from the approval mail whose link you followed, and press the button again.";
  }
  const { triesLeft } = result;
  const left = triesLeft === 1 ? "You have one try left" : `You have ${triesLeft} tries left`;
  return `This is not the code of the approval mail whose link you followed. ${left} before this link is closed.`;
}

/** True if the result is an approval that the link's holder can undo. */
export const isUndoable = (result: LinkResult): boolean =>
  result.kind === "approved" ? result.undoUntil !== undefined : result.kind === "vote_counted";

/** Returns the offers of an outcome page. A fault of the list only leaves out the way to the next draft. */
export async function wayOn(
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

export function resultPage(result: LinkResult, link: LinkedApproval, offers: WayOn): Reply {
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
      return linkPage(410, pages.expiredNowPage());
    case "closed":
      return linkPage(410, pages.closedPage(result.because));
    case "edit_refused":
      return linkPage(409, pages.editRefusedPage(result.sentence));
    case "in_chat_only":
      return linkPage(409, pages.inChatOnlyPage());
    case "sign_in_required":
      return linkPage(409, pages.signInPage(link));
    case "unknown":
      return linkPage(404, pages.unknownPage());
  }
}
